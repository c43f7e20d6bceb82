// SPDX-License-Identifier: Apache-2.0
#include "operands/driver/holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace gantry::driver {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

constexpr char kUid[] = "0a1b2c3d-1111-2222-3333-444455556666";

TEST(PodUid, IsInTheCgroupOfEitherDriverAndVersion) {
  const std::array<std::pair<const char*, const char*>, 8> cases = {{
      {"0::/kubepods.slice/kubepods-burstable.slice/"
       "kubepods-burstable-pod0a1b2c3d_1111_2222_3333_444455556666.slice/cri-containerd-77.scope\n",
       kUid},
      {"0::/kubepods.slice/kubepods-pod0a1b2c3d_1111_2222_3333_444455556666.slice/crio-77.scope",
       kUid},
      {"12:cpu:/kubepods/besteffort/pod0a1b2c3d-1111-2222-3333-444455556666/77\n"
       "0::/system.slice\n",
       kUid},
      {"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
       "kubelet-kubepods-besteffort-pod0a1b2c3d_1111_2222_3333_444455556666.slice/x\n",
       kUid},
      {"0::/kubepods/burstable/pod0123456789abcdef0123456789abcdef/77",
       "0123456789abcdef0123456789abcdef"},
      {"0::/system.slice/podman.service", ""},
      {"0::/user.slice/pod0a1b2c3d-1111-2222-3333-44445555666z", ""},
      {"", ""},
  }};
  for (const auto& [cgroup, uid] : cases) {
    EXPECT_EQ(PodUidOf(cgroup), uid) << cgroup;
  }
}

TEST(HoldersAmongTest, AreThoseWithADeviceNodeOpen) {
  const std::vector<ProcessText> processes = {
      {.pid = 900, .name = "smi\n", .cgroup = "0::/", .descriptors = {"/dev/nvidiactl"}},
      {.pid = 12, .name = "sh\n", .cgroup = "0::/", .descriptors = {"/dev/null", "socket:[1]"}},
      {.pid = 80,
       .name = "python\n",
       .cgroup = "0::/kubepods/pod" + std::string(kUid) + "/77\n",
       .descriptors = {"/tmp/x", "/run/nvidia/driver/dev/nvidia0", "/dev/nvidiactl"}}};
  const std::vector<Holder> holders = HoldersAmong(processes);
  EXPECT_THAT(holders, ElementsAre(Holder{80, "python", "/dev/nvidia0", kUid},
                                   Holder{900, "smi", "/dev/nvidiactl", ""}));
  EXPECT_THAT(HoldersAmong({}), IsEmpty());
  EXPECT_EQ(Describe(holders, {{kUid, "ml/train-0"}}),
            "process 80 (python, /dev/nvidia0, pod ml/train-0), process 900 (smi, /dev/nvidiactl)");
  EXPECT_EQ(Describe({holders[0]}, {}),
            "process 80 (python, /dev/nvidia0, pod 0a1b2c3d-1111-2222-3333-444455556666)");
}

TEST(DescribeTest, EndsAfterFive) {
  const std::vector<Holder> many(8, Holder{1, "a", "/dev/nvidia0", ""});
  EXPECT_THAT(Describe(many, {}), EndsWith("process 1 (a, /dev/nvidia0), and 3 more"));
}

}  // namespace
}  // namespace gantry::driver
