// SPDX-License-Identifier: Apache-2.0
// The kubelet says which runtime counts, each distribution in its own way: a flag (kubeadm, RKE2,
// k0s), a key of its configuration file, a file of arguments (MicroK8s), or, in k3s, nothing: there
// the socket's place is part of the program.
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

std::string WithoutScheme(std::string_view endpoint) {
  endpoint = Trim(endpoint);
  endpoint.remove_prefix(endpoint.starts_with(kScheme) ? kScheme.size() : 0);
  return endpoint.starts_with("/") ? std::string(endpoint) : "";
}

// A plain key of a YAML or JSON file: a path needs no more of either than quotes taken off.
std::string EndpointInFile(std::string_view config) {
  for (const std::string& line : Split(config, '\n')) {
    const size_t key = line.find(kKey);
    const size_t colon = key == std::string::npos ? key : line.find(':', key + kKey.size());
    if (colon == std::string::npos || line.find('#') < key) {
      continue;
    }
    std::string value = line.substr(colon + 1);
    value = value.substr(0, value.find_first_of("#,}"));
    std::erase_if(value, [](char c) { return c == '"' || c == '\''; });
    return WithoutScheme(value);
  }
  return "";
}

// The program's name. A process that wrote its own title has it all in one word.
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
    std::vector<std::string> arguments = {name};
    for (const std::string& line : Split(microk8s_arguments, '\n')) {
      for (const std::string& word : Split(line, ' ')) {
        arguments.push_back(word);
      }
    }
    const std::string given = WithoutScheme(OptionValue(arguments, {kFlag}));
    // As a rule it is ${SNAP_COMMON}/run/containerd.sock.
    return given.empty() ? "/var/snap/microk8s/common/run/containerd.sock" : given;
  }
  if (name == "k3s" || name == "k3s-server" || name == "k3s-agent") {
    return std::ranges::find(words, "--docker") == words.end()
               ? "/run/k3s/containerd/containerd.sock"
               : "/run/k3s/cri-dockerd/cri-dockerd.sock";
  }
  return EndpointInFile(config);
}

std::string EngineOf(const std::vector<std::string>& words) {
  const std::string name = NameOf(words);
  return name == "containerd"                         ? "containerd"
         : name == "crio" || name == "cri-o"          ? "crio"
         : name == "dockerd" || name == "cri-dockerd" ? "docker"
                                                      : "";
}

}  // namespace gantry::container_toolkit
