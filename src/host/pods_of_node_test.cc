// SPDX-License-Identifier: Apache-2.0
#include "host/pods_of_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/testing/temp_folder.h"

namespace gantry::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr char kUid[] = "0a1b2c3d-1111-2222-3333-444455556666";
constexpr char kOther[] = "0a1b2c3d-1111-2222-3333-444455557777";

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

class PodsOfNodeTest : public testing::Test {
 protected:
  void Make(const std::string& path) const {
    std::filesystem::create_directories(root_ + "/" + path);
  }
  const TempFolder temporary_;
  const std::string root_ = temporary_.path();
};

TEST_F(PodsOfNodeTest, AreNamedByTheirLogs) {
  Make("var/log/pods/team_job-0_" + std::string(kUid));
  Make("var/log/pods/team_job-0");
  Make("var/log/pods/kube-system_etcd-n1_0123456789abcdef0123456789abcdef");
  const PodsOfNode pods = ReadPodsOfNode(root_);
  EXPECT_THAT(pods.uids,
              ElementsAre(Pair(Pair("kube-system", "etcd-n1"), "0123456789abcdef0123456789abcdef"),
                          Pair(Pair("team", "job-0"), kUid)));
  EXPECT_EQ(pods.running, std::nullopt) << "no cgroups are seen";
}

TEST_F(PodsOfNodeTest, OfTwoWithOneNameTheOneThatRunsCounts) {
  Make("var/log/pods/team_job_" + std::string(kUid));
  Make("var/log/pods/team_job_" + std::string(kOther));
  Make("sys/fs/cgroup/kubepods/burstable/pod" + std::string(kUid) + "/77");
  EXPECT_THAT(ReadPodsOfNode(root_).uids, ElementsAre(Pair(Pair("team", "job"), kUid)));
}

TEST_F(PodsOfNodeTest, RunWhileAContainerHasACgroup) {
  const auto systemd = [](std::string uid) {
    std::ranges::replace(uid, '-', '_');
    return "kubepods-besteffort-pod" + uid + ".slice";
  };
  const std::string version_2 = "sys/fs/cgroup/kubepods.slice/kubepods-besteffort.slice/";
  Make(version_2 + systemd(kUid) + "/cri-containerd-77.scope");
  Make(version_2 + systemd(kOther));
  EXPECT_THAT(*RunningPods(root_), ElementsAre(kUid));
  std::filesystem::remove_all(root_ + "/" + version_2 + systemd(kUid) + "/cri-containerd-77.scope");
  EXPECT_THAT(*RunningPods(root_), IsEmpty());
}

TEST_F(PodsOfNodeTest, RunInVersion1Too) {
  Make("sys/fs/cgroup/memory/kubepods/pod" + std::string(kUid) + "/77");
  EXPECT_THAT(*RunningPods(root_), ElementsAre(kUid));
}

}  // namespace
}  // namespace gantry::host
