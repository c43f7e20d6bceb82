// SPDX-License-Identifier: Apache-2.0
// The settings that Gantry's runtimes take over, from AKS's and Kubespray's files among others.
#include "container/containerd_runtimes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "container/toml_text.h"

namespace gantry::container {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kOurs[] = "/usr/local/nvidia/toolkit/nvidia-container-runtime";

// The lines of the CRI plugin's table, below its containerd.
ContainerdWish WishFor(const std::string& containerd, ContainerdVersion version) {
  ContainerdWish wish;
  wish.version = version;
  const std::string plugin = "plugins.'io.containerd.grpc.v1.cri'.containerd";
  std::string text = "version = 2\n[" + plugin + "]\n";
  for (size_t at = 0; at < containerd.size();) {
    const size_t end = containerd.find('\n', at) + 1;
    const std::string line = containerd.substr(at, end - at);
    text += line.starts_with("[") ? "[" + plugin + "." + line.substr(1) : line;
    at = end;
  }
  wish.root_text = text;
  return wish;
}

toml::table OurRuntime(const ContainerdWish& wish, const std::string& name) {
  const auto plan = PlanContainerd(wish);
  const toml::table drop_in = ParseToml(plan.value().drop_in_text).value();
  return *TableAt(drop_in,
                  {"plugins", "io.containerd.grpc.v1.cri", "containerd", "runtimes", name});
}

constexpr char kAks[] =
    "default_runtime_name = 'nvidia-container-runtime'\n"
    "[runtimes.nvidia-container-runtime]\nruntime_type = 'io.containerd.runc.v2'\n"
    "base_runtime_spec = '/etc/base.json'\nsnapshotter = 'overlaybd'\n"
    "pod_annotations = ['a.*']\ncontainer_annotations = ['b.*']\n"
    "[runtimes.nvidia-container-runtime.options]\n"
    "BinaryName = '/usr/bin/nvidia-container-runtime'\nSystemdCgroup = true\n";

TEST(ContainerdRuntimes, Nct28ADefaultRuntimeOfNvidiasGivesItsSettings) {
  for (const ContainerdVersion version : {ContainerdVersion{1, 7}, ContainerdVersion{2, 4}}) {
    ContainerdWish wish = WishFor(kAks, version);
    wish.annotation_prefixes = {"cdi.k8s.io/"};
    for (const char* name : {"nvidia", "nvidia-cdi", "nvidia-legacy"}) {
      const toml::table table = OurRuntime(wish, name);
      EXPECT_TRUE(table["options"]["SystemdCgroup"].value_or(false)) << name;
      EXPECT_THAT(table["options"]["BinaryName"].value_or(std::string()), HasSubstr(kOurs));
      EXPECT_EQ(table["base_runtime_spec"].value_or(std::string()), "/etc/base.json");
      EXPECT_EQ(table["snapshotter"].value_or(std::string()), "overlaybd");
      EXPECT_EQ(table["pod_annotations"].as_array()->size(), 1U);
      EXPECT_EQ(table["container_annotations"].as_array()->size(), 2U) << "theirs and ours";
    }
    EXPECT_THAT(LowLevelRuntimes(wish), ElementsAre()) << "it would call itself";
  }
}

// Whose a runtime is tells its program.
TEST(ContainerdRuntimes, ANameOfNvidiasMayBeAnyRuntime) {
  EXPECT_THAT(LowLevelRuntimes(WishFor("default_runtime_name = 'nvidia-crun'\n"
                                       "[runtimes.nvidia-crun.options]\nbinaryname = '/b/crun'\n"
                                       "[runtimes.runc.options]\n"
                                       "BinaryName = '/usr/bin/nvidia-container-runtime'\n",
                                       {2, 4})),
              ElementsAre("/b/crun"));
}

TEST(ContainerdRuntimes, Op1374KeysOfOptionsHaveNoLetterCase) {
  const std::string runc =
      "[runtimes.runc]\nruntime_type = 'io.containerd.runc.v2'\n"
      "[runtimes.runc.options]\nsystemdCgroup = true\nbinaryName = '/usr/local/bin/runc'\n";
  for (const ContainerdVersion version : {ContainerdVersion{1, 7}, ContainerdVersion{2, 4}}) {
    const ContainerdWish wish = WishFor(runc, version);
    const toml::table table = OurRuntime(wish, "nvidia");
    EXPECT_EQ(table["options"]["BinaryName"].value_or(std::string()), kOurs);
    EXPECT_FALSE(table["options"].as_table()->contains("binaryName"));
    EXPECT_TRUE(table["options"]["systemdCgroup"].value_or(false));
    EXPECT_THAT(LowLevelRuntimes(wish), ElementsAre("/usr/local/bin/runc"));
  }
}

// containerd puts the root file's table of the same name and ours together, key by key.
TEST(ContainerdRuntimes, ARuntimeOfTheOwnersIsReplacedInEachSpelling) {
  const ContainerdWish wish = WishFor(
      "[runtimes.runc.options]\nSystemdCgroup = true\n"
      "[runtimes.nvidia.options]\nbinaryName = '/old'\nsystemdcgroup = false\n",
      {2, 4});
  const toml::table table = OurRuntime(wish, "nvidia");
  EXPECT_EQ(table["options"]["BinaryName"].value_or(std::string()), kOurs);
  EXPECT_EQ(table["options"]["binaryName"].value_or(std::string()), kOurs);
  EXPECT_TRUE(table["options"]["systemdcgroup"].value_or(false));
}

TEST(ContainerdRuntimes, AProgramInAnySpellingIsTheRuntimes) {
  const std::string text =
      "version = 2\n[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.nvidia.options]\n"
      "binaryname = '/a'\n";
  EXPECT_TRUE(HasRuntime(text, "nvidia", "/a"));
  EXPECT_FALSE(HasRuntime(text + "BinaryName = '/b'\n", "nvidia", "/a"));
}

TEST(ContainerdRuntimes, TheKubeletsCgroupDriverIsTheLastSource) {
  ContainerdWish wish = WishFor("", {2, 4});
  EXPECT_THAT(PlanContainerd(wish)->drop_in_text, Not(HasSubstr("SystemdCgroup")));
  wish.kubelet_uses_systemd = true;
  EXPECT_THAT(PlanContainerd(wish)->drop_in_text, HasSubstr("SystemdCgroup = true"));
  wish = WishFor("[runtimes.runc]\nruntime_type = 'io.containerd.runc.v2'\n", {2, 4});
  wish.kubelet_uses_systemd = true;
  EXPECT_THAT(PlanContainerd(wish)->drop_in_text, Not(HasSubstr("SystemdCgroup")))
      << "the node's runtimes use cgroupfs";
}

}  // namespace
}  // namespace gantry::container
