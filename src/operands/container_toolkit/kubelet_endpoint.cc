// SPDX-License-Identifier: Apache-2.0
// Which container runtime does the kubelet use? Each distribution sets it in its own way: a flag
// (kubeadm, RKE2, k0s), a key of its configuration file, a file of arguments (MicroK8s), or, in
// k3s, nothing: there the socket's path is built in.
#include "operands/container_toolkit/kubelet_endpoint.h"

#include <algorithm>

#include "base/option_value.h"
#include "base/paths.h"
#include "base/text.h"

namespace gantry::container_toolkit {
namespace {

constexpr std::string_view kScheme = "unix://";
constexpr char kFlag[] = "--container-runtime-endpoint";
constexpr std::string_view kKey = "containerRuntimeEndpoint";
constexpr char kDriverFlag[] = "--cgroup-driver";
constexpr std::string_view kDriverKey = "cgroupDriver";

std::string WithoutScheme(std::string_view endpoint) {
  endpoint = Trim(endpoint);
  endpoint.remove_prefix(endpoint.starts_with(kScheme) ? kScheme.size() : 0);
  return endpoint.starts_with("/") ? std::string(endpoint) : "";
}

// A plain key of a YAML or JSON file: for a path, removing quotes is enough.
std::string ValueInFile(std::string_view config, std::string_view name) {
  for (const std::string& line : Split(config, '\n')) {
    const size_t key = line.find(name);
    const size_t colon = key == std::string::npos ? key : line.find(':', key + name.size());
    if (colon == std::string::npos || line.find('#') < key) {
      continue;
    }
    std::string value = line.substr(colon + 1);
    value = value.substr(0, value.find_first_of("#,}"));
    std::erase_if(value, [](char c) { return c == '"' || c == '\''; });
    return std::string(Trim(value));
  }
  return "";
}

// MicroK8s's file as arguments of a command line.
std::vector<std::string> WordsOf(const std::string& program, std::string_view arguments) {
  std::vector<std::string> words = {program};
  for (const std::string& line : Split(arguments, '\n')) {
    for (const std::string& word : Split(line, ' ')) {
      words.push_back(word);
    }
  }
  return words;
}

// The program's name. A process that set its own title has everything in one argument.
std::string NameOf(const std::vector<std::string>& words) {
  return words.empty() ? "" : BaseName(words[0].substr(0, words[0].find(' ')));
}

}  // namespace

std::string KubeletConfigPath(const std::vector<std::string>& words) {
  return OptionValue(words, {"--config"});
}

std::string CriSocket(const std::vector<std::string>& words, std::string_view config,
                      std::string_view microk8s_arguments) {
  if (const std::string given = WithoutScheme(OptionValue(words, {kFlag})); !given.empty()) {
    return given;
  }
  const std::string name = NameOf(words);
  if (name == "kubelite") {
    const std::string given =
        WithoutScheme(OptionValue(WordsOf(name, microk8s_arguments), {kFlag}));
    // Usually ${SNAP_COMMON}/run/containerd.sock.
    return given.empty() ? "/var/snap/microk8s/common/run/containerd.sock" : given;
  }
  if (name == "k3s" || name == "k3s-server" || name == "k3s-agent") {
    return std::ranges::find(words, "--docker") == words.end()
               ? "/run/k3s/containerd/containerd.sock"
               : "/run/k3s/cri-dockerd/cri-dockerd.sock";
  }
  return WithoutScheme(ValueInFile(config, kKey));
}

bool UsesSystemdCgroups(const std::vector<std::string>& words, std::string_view config,
                        std::string_view microk8s_arguments) {
  const std::string name = NameOf(words);
  std::string driver =
      OptionValue(name == "kubelite" ? WordsOf(name, microk8s_arguments) : words, {kDriverFlag});
  if (driver.empty()) {
    driver = ValueInFile(config, kDriverKey);
  }
  return driver == "systemd";
}

std::string EngineOf(const std::vector<std::string>& words) {
  const std::string name = NameOf(words);
  return name == "containerd"                         ? "containerd"
         : name == "crio" || name == "cri-o"          ? "crio"
         : name == "dockerd" || name == "cri-dockerd" ? "docker"
                                                      : "";
}

}  // namespace gantry::container_toolkit
