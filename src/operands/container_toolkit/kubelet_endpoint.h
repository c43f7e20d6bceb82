// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

// Which container runtime does the kubelet use? A host may run several (Docker's containerd beside
// k3s's), and only one of them starts pods.
namespace gantry::container_toolkit {

// The kubelet's configuration file by its command line; empty: none.
std::string KubeletConfigPath(const std::vector<std::string>& words);

// The host path of the CRI socket, from the command line of the kubelet or of the program that
// contains it (k3s, MicroK8s's kubelite), its configuration file and, for MicroK8s, the file with
// its arguments; empty: none of them has it.
std::string CriSocket(const std::vector<std::string>& words, std::string_view config,
                      std::string_view microk8s_arguments);

// Whether the kubelet's cgroup driver is systemd, from the same sources.
bool UsesSystemdCgroups(const std::vector<std::string>& words, std::string_view config,
                        std::string_view microk8s_arguments);

// "containerd", "crio" or "docker" by the program that serves a socket; empty: none of them.
std::string EngineOf(const std::vector<std::string>& words);

}  // namespace gantry::container_toolkit
