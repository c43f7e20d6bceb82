// SPDX-License-Identifier: Apache-2.0
#include "host/lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/text.h"

namespace gantry::host {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Lock, OneProgramAtATimeHasAFileAndTheOtherIsToldWho) {
  const std::string path = testing::TempDir() + format("/lock-{}/file", getpid());
  auto first = LockFile(path, milliseconds(0));
  ASSERT_TRUE(first) << first.error().message;
  const auto second = LockFile(path, milliseconds(20));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::kTimeout);
  EXPECT_THAT(second.error().message, HasSubstr(format("process {} (host_test", getpid())));
  *first = Fd();
  EXPECT_TRUE(LockFile(path, milliseconds(0)));
}

TEST(LockHolders, ThoseThatHaveItAndNotThoseThatWait) {
  constexpr char kLocks[] =
      "1: FLOCK  ADVISORY  READ 12 00:1a:77 0 EOF\n"
      "1: -> FLOCK  ADVISORY  WRITE 13 00:1a:77 0 EOF\n"
      "2: FLOCK  ADVISORY  READ 0 00:1a:77 0 EOF\n"
      "3: POSIX  ADVISORY  WRITE 14 00:1a:77 0 EOF\n"
      "4: FLOCK  ADVISORY  WRITE 15 00:1a:78 0 EOF\n"
      "5: FLOCK  ADVISORY  READ 16 00:1a:77 0 EOF\n"
      "6: FLOCK\n";
  EXPECT_THAT(LockHolders(kLocks, 0, 0x1a, 77), ElementsAre(12, 16));
  EXPECT_THAT(LockHolders(kLocks, 1, 0x1a, 77), IsEmpty());
  EXPECT_THAT(LockHolders("", 0, 0x1a, 77), IsEmpty());
}

}  // namespace
}  // namespace gantry::host
