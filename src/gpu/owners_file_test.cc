// SPDX-License-Identifier: Apache-2.0
#include "gpu/owners_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/text.h"

namespace gantry::gpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr milliseconds kShort(30);
const Owners kFirst = {{"GPU-0", {.program = "mig", .reason = "first"}}};
const Owners kBoth = {{"GPU-0", {.program = "mig", .reason = "both"}},
                      {"GPU-1", {.program = "mig", .reason = "both"}}};

class OwnersFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + format("/owners-{}", getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  // What a reader sees, and carries out if told to.
  static std::optional<Owners> See(OwnersReader& reader, bool carried_out) {
    auto seen = reader.Take();
    EXPECT_TRUE(seen) << seen.error().message;
    if (carried_out) {
      reader.CarriedOut();
    }
    return seen.value_or(std::nullopt);
  }
  std::string folder_;
};

TEST_F(OwnersFile, NoFileMeansNoOwnersAndAReaderSeesEachFileOnce) {
  OwnersReader reader(folder_);
  EXPECT_EQ(See(reader, true), Owners());
  EXPECT_EQ(See(reader, true), std::nullopt);
  OwnersWriter writer(folder_, "mig");
  EXPECT_EQ(writer.Owned(), Owners());
  EXPECT_EQ(writer.Take(kFirst, milliseconds(0)).error().kind, ErrorKind::kTimeout);
  EXPECT_EQ(See(reader, true), Owners()) << "what was not carried out is taken back";
  std::thread carries_out([&] {
    while (!See(reader, true)) {
    }
  });
  EXPECT_TRUE(writer.Take(kFirst, seconds(5)));
  carries_out.join();
  EXPECT_EQ(See(reader, true), std::nullopt);
  EXPECT_EQ(writer.Owned()->size(), kFirst.size());
}

TEST_F(OwnersFile, AWriterWaitsForEachReaderAndForNobodyElse) {
  OwnersWriter writer(folder_, "mig");
  EXPECT_TRUE(writer.Take(kFirst, milliseconds(0))) << "there is no reader";
  OwnersReader quick(folder_);
  OwnersReader slow(folder_);
  EXPECT_EQ(See(quick, true), kFirst);
  EXPECT_EQ(See(slow, true), kFirst);
  const Status late = writer.Take(kBoth, kShort);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::kTimeout);
  EXPECT_THAT(late.error().message, HasSubstr(format("process {} (", getpid())));
  // Seen is not carried out, however often the file changes meanwhile.
  EXPECT_EQ(See(slow, false), kFirst);
  EXPECT_FALSE(writer.Take(kBoth, kShort));
  EXPECT_EQ(See(quick, true), kFirst);
  EXPECT_EQ(See(slow, false), kFirst);
  EXPECT_EQ(*writer.GiveBack(kShort), false);
  EXPECT_EQ(See(slow, true), Owners());
  EXPECT_EQ(See(quick, true), Owners());
  EXPECT_EQ(*writer.GiveBack(kShort), true) << "it has none";
}

TEST_F(OwnersFile, AReaderThatHasEndedKeepsNobodyWaiting) {
  OwnersWriter writer(folder_, "mig");
  {
    OwnersReader reader(folder_);
    EXPECT_EQ(See(reader, true), Owners());
    EXPECT_FALSE(writer.Take(kFirst, kShort));
  }
  EXPECT_TRUE(writer.Take(kFirst, kShort));
}

TEST_F(OwnersFile, AnotherProgramsGpuIsRefused) {
  EXPECT_TRUE(OwnersWriter(folder_, "dra").Take(kFirst, kShort));
  OwnersWriter writer(folder_, "mig");
  EXPECT_EQ(writer.Take(kBoth, kShort).error().kind, ErrorKind::kConflict);
  EXPECT_EQ(writer.Owned(), Owners());
  EXPECT_TRUE(writer.Take({{"GPU-1", kBoth.at("GPU-1")}}, kShort));
  EXPECT_EQ(OwnersWriter(folder_, "dra").Owned()->size(), kFirst.size());
}

TEST_F(OwnersFile, ADamagedFileIsAnErrorForReadersAndReplacedByAWriter) {
  ASSERT_EQ(std::system(("echo {} > " + folder_ + "/" + kOwnersFile).c_str()), 0);
  OwnersReader reader(folder_);
  const auto seen = reader.Take();
  ASSERT_FALSE(seen);
  EXPECT_THAT(seen.error().message, HasSubstr("version"));
  EXPECT_EQ(See(reader, true), std::nullopt) << "it is reported once";
  std::thread carries_out([&] {
    while (!See(reader, true)) {
    }
  });
  EXPECT_TRUE(OwnersWriter(folder_, "mig").Take(kFirst, seconds(5)));
  carries_out.join();
}

TEST_F(OwnersFile, TheFolderMayComeLater) {
  std::filesystem::remove_all(folder_);
  OwnersReader reader(folder_);
  EXPECT_EQ(See(reader, true), Owners());
  EXPECT_TRUE(OwnersWriter(folder_, "mig").Take(kFirst, kShort));
  EXPECT_EQ(See(reader, true), kFirst);
}

}  // namespace
}  // namespace gantry::gpu
