// SPDX-License-Identifier: Apache-2.0
#include "host/device_holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::host {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

constexpr char kUid[] = "0a1b2c3d-1111-2222-3333-444455556666";

TEST(HoldersAmongTest, AreThoseWithADeviceNodeOpen) {
  const std::vector<ProcessText> processes = {
      {.pid = 900, .name = "smi\n", .cgroup = "0::/", .descriptors = {"/dev/nvidiactl"}},
      {.pid = 12, .name = "sh\n", .cgroup = "0::/", .descriptors = {"/dev/null", "socket:[1]"}},
      {.pid = 80,
       .name = "python\n",
       .cgroup = "0::/kubepods/pod" + std::string(kUid) + "/77\n",
       .descriptors = {"/tmp/x", "/run/nvidia/driver/dev/nvidia0", "/dev/nvidiactl"}}};
  const std::vector<Holder> holders = HoldersAmong(processes, NvidiaDeviceOf);
  EXPECT_THAT(holders, ElementsAre(Holder{80, "python", "/dev/nvidia0", kUid},
                                   Holder{900, "smi", "/dev/nvidiactl", ""}));
  EXPECT_THAT(HoldersAmong({}, NvidiaDeviceOf), IsEmpty());
  EXPECT_EQ(DescribeHolders(holders, {{kUid, "ml/train-0"}}),
            "process 80 (python, /dev/nvidia0, pod ml/train-0), process 900 (smi, /dev/nvidiactl)");
  EXPECT_EQ(DescribeHolders({holders[0]}, {}),
            "process 80 (python, /dev/nvidia0, pod 0a1b2c3d-1111-2222-3333-444455556666)");
}

TEST(DescribeTest, EndsAfterFive) {
  const std::vector<Holder> many(8, Holder{1, "a", "/dev/nvidia0", ""});
  EXPECT_THAT(DescribeHolders(many, {}), EndsWith("process 1 (a, /dev/nvidia0), and 3 more"));
}

}  // namespace
}  // namespace gantry::host
