// SPDX-License-Identifier: Apache-2.0
// How kubelets of several distributions name their container runtime.
#include "operands/container_toolkit/kubelet_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::container_toolkit {
namespace {

TEST(KubeletEndpoint, AFlag) {
  EXPECT_EQ(CriSocket({"/usr/bin/kubelet", "--config=/var/lib/kubelet/config.yaml",
                       "--container-runtime-endpoint=unix:///run/containerd/containerd.sock"},
                      "containerRuntimeEndpoint: unix:///run/other.sock\n", ""),
            "/run/containerd/containerd.sock");
  EXPECT_EQ(
      CriSocket({"kubelet", "--container-runtime-endpoint", "/run/k0s/containerd.sock"}, "", ""),
      "/run/k0s/containerd.sock");
}

TEST(KubeletEndpoint, AKeyOfItsConfiguration) {
  const std::vector<std::string> words = {"kubelet", "--config", "/var/lib/kubelet/config.yaml"};
  EXPECT_EQ(KubeletConfigPath(words), "/var/lib/kubelet/config.yaml");
  EXPECT_EQ(CriSocket(words,
                      "kind: KubeletConfiguration\n# containerRuntimeEndpoint: unix:///no\n"
                      "containerRuntimeEndpoint: \"unix:///run/crio/crio.sock\"  # ours\n",
                      ""),
            "/run/crio/crio.sock");
  EXPECT_EQ(
      CriSocket(words, "{\"containerRuntimeEndpoint\": \"unix:///run/a.sock\", \"a\": 1}", ""),
      "/run/a.sock");
  EXPECT_EQ(
      CriSocket(words, "{\"a\": 1,\n\"containerRuntimeEndpoint\": \"unix:///run/a.sock\"}", ""),
      "/run/a.sock");
  EXPECT_EQ(CriSocket(words, "containerRuntimeEndpoint: \"\"\n", ""), "");
  EXPECT_EQ(CriSocket(words, "a: b\n", ""), "");
}

TEST(KubeletEndpoint, K3sHoldsItsKubelet) {
  EXPECT_EQ(CriSocket({"/usr/local/bin/k3s server"}, "", ""),
            "/run/k3s/containerd/containerd.sock");
  EXPECT_EQ(CriSocket({"/usr/local/bin/k3s", "agent", "--docker"}, "", ""),
            "/run/k3s/cri-dockerd/cri-dockerd.sock");
  EXPECT_EQ(
      CriSocket({"k3s", "server", "--container-runtime-endpoint=/run/crio/crio.sock"}, "", ""),
      "/run/crio/crio.sock");
}

TEST(KubeletEndpoint, MicroK8sHasAFileOfArguments) {
  const std::vector<std::string> words = {"/snap/microk8s/7964/kubelite",
                                          "--scheduler-args-file=x"};
  EXPECT_EQ(CriSocket(words, "",
                      "--kubeconfig=x\n--container-runtime-endpoint=${SNAP_COMMON}/run/"
                      "containerd.sock\n"),
            "/var/snap/microk8s/common/run/containerd.sock");
  EXPECT_EQ(CriSocket(words, "", "--container-runtime-endpoint=unix:///run/x.sock\n"),
            "/run/x.sock");
  EXPECT_EQ(CriSocket(words, "", ""), "/var/snap/microk8s/common/run/containerd.sock");
}

TEST(KubeletEndpoint, TheCgroupDriver) {
  const std::vector<std::string> words = {"kubelet", "--config=/var/lib/kubelet/config.yaml"};
  EXPECT_TRUE(UsesSystemdCgroups(words, "cgroupDriver: systemd\n", ""));
  EXPECT_TRUE(UsesSystemdCgroups(words, "{\"cgroupDriver\": \"systemd\"}", ""));
  EXPECT_FALSE(UsesSystemdCgroups(words, "cgroupDriver: cgroupfs\n", ""));
  EXPECT_FALSE(UsesSystemdCgroups(words, "# cgroupDriver: systemd\n", ""));
  EXPECT_FALSE(UsesSystemdCgroups(words, "", ""));
  EXPECT_FALSE(
      UsesSystemdCgroups({"kubelet", "--cgroup-driver=cgroupfs"}, "cgroupDriver: systemd\n", ""))
      << "a flag counts more";
  EXPECT_TRUE(
      UsesSystemdCgroups({"/snap/microk8s/7964/kubelite"}, "", "--a=b\n--cgroup-driver=systemd\n"));
}

TEST(KubeletEndpoint, EnginesByTheirPrograms) {
  EXPECT_EQ(EngineOf({"/usr/bin/containerd", "--config", "x"}), "containerd");
  EXPECT_EQ(EngineOf({"/usr/bin/crio"}), "crio");
  EXPECT_EQ(EngineOf({"/usr/bin/dockerd", "-H", "fd://"}), "docker");
  EXPECT_EQ(EngineOf({"cri-dockerd"}), "docker");
  EXPECT_EQ(EngineOf({"/sbin/init"}), "");
  EXPECT_EQ(EngineOf({}), "");
}

}  // namespace
}  // namespace gantry::container_toolkit
