// SPDX-License-Identifier: Apache-2.0
// Which container engine runs the node's pods? The kubelet is found as the process that serves its
// own socket, whatever its program: in k3s and MicroK8s it is part of a larger one.
#include "operands/container_toolkit/runtime_discovery.h"

#include <unistd.h>

#include <array>

#include "base/paths.h"
#include "base/text.h"
#include "container/docker_status.h"
#include "operands/container_toolkit/kubelet_endpoint.h"

namespace gantry::container_toolkit {
namespace {

using std::chrono::seconds;

constexpr std::array kKubeletSockets = {
    "/var/lib/kubelet/device-plugins/kubelet.sock",
    "/var/lib/k0s/kubelet/device-plugins/kubelet.sock",
    "/var/snap/microk8s/common/var/lib/kubelet/device-plugins/kubelet.sock",
};
constexpr char kMicroK8sArguments[] = "/var/snap/microk8s/current/args/kubelet";
constexpr char kDockerSocket[] = "/run/docker.sock";

std::string Here(const Flags& flags, const std::string& host_path) {
  return ResolveInRoot(flags.host_root, host_path).value_or(JoinPath(flags.host_root, host_path));
}

std::vector<std::string> UsualSockets(const std::string& engine) {
  if (engine == "crio") {
    return {"/run/crio/crio.sock"};
  }
  if (engine == "docker") {
    return {kDockerSocket};
  }
  return {"/run/containerd/containerd.sock", "/run/k3s/containerd/containerd.sock",
          "/run/k0s/containerd.sock", "/var/snap/microk8s/common/run/containerd.sock"};
}

struct Kubelet {
  std::string socket;  // of the engine; empty: there is no kubelet, or its socket is not configured
  bool uses_systemd = false;
};

// kUnavailable: it is about to start, and a guess at its engine could change another engine's
// files.
Result<Kubelet> FindKubelet(const Flags& flags) {
  Kubelet says;
  Status starting;
  for (const char* socket : kKubeletSockets) {
    const auto kubelet = host::SocketPeer(Here(flags, socket));
    const auto words = kubelet ? host::CommandLine(kubelet->pid)
                               : Result<std::vector<std::string>>(std::unexpected(kubelet.error()));
    if (!words) {
      if (words.error().kind == ErrorKind::kUnavailable) {
        starting = std::unexpected(words.error().In("find the kubelet"));
      }
      continue;
    }
    const std::string path = KubeletConfigPath(*words);
    const std::string config = path.empty() ? "" : ReadFile(Here(flags, path)).value_or("");
    const std::string arguments = ReadFile(Here(flags, kMicroK8sArguments)).value_or("");
    says.uses_systemd = says.uses_systemd || UsesSystemdCgroups(*words, config, arguments);
    says.socket = CriSocket(*words, config, arguments);
    if (!says.socket.empty()) {
      return says;
    }
  }
  TRY(starting);
  return says;
}

// Its mount namespace is usually the host's; if it is this container's, the path has the prefix of
// the mount.
Result<std::string> ProgramOf(const Flags& flags, const FoundRuntime& found) {
  if (flags.executable.starts_with("/")) {
    return flags.executable;
  }
  TRY_ASSIGN(const std::string path, host::ProgramPath(found.process.pid));
  std::string program = WithoutRoot(flags.host_root, path).value_or(path);
  // k3s is one file with many names: only the name tells which of its programs runs.
  const std::string name = found.engine == "docker" ? "dockerd" : found.engine;
  if (const std::string named = JoinPath(ParentOf(program), name);
      BaseName(program) != name && ::access(Here(flags, named).c_str(), X_OK) == 0) {
    program = named;
  }
  return program;
}

// systemd may listen on Docker's socket, and the kubelet does not use it.
Status FindDocker(const Flags& flags, FoundRuntime& found) {
  if (BaseName(found.socket) != BaseName(kDockerSocket)) {
    found.socket = kDockerSocket;
  }
  TRY_ASSIGN(const auto status, container::AskDocker(Here(flags, found.socket), seconds(5)));
  if (status.pid <= 0) {
    return Fail(ErrorKind::kDenied, "find Docker: it is in another PID namespace");
  }
  TRY_ASSIGN(found.process, host::Identify(status.pid));
  TRY_ASSIGN(found.words, host::CommandLine(status.pid));
  return {};
}

}  // namespace

Result<FoundRuntime> FindRuntime(const Flags& flags) {
  FoundRuntime found;
  std::vector<std::string> sockets = {flags.socket};
  const bool given = !flags.socket.empty();
  const auto kubelet = FindKubelet(flags);
  if (!given) {
    TRY(kubelet);
    sockets = kubelet->socket.empty() ? UsualSockets(flags.runtime)
                                      : std::vector<std::string>{kubelet->socket};
  }
  found.kubelet_uses_systemd = kubelet && kubelet->uses_systemd;
  Result<host::ProcessId> peer = Fail(ErrorKind::kNotFound, "find the container runtime");
  for (const std::string& socket : sockets) {
    auto serves = host::SocketPeer(Here(flags, socket));
    // The error of an existing unusable one is more useful than those of missing ones.
    if (serves || peer.error().kind == ErrorKind::kNotFound) {
      peer = std::move(serves);
      found.socket = socket;
    }
    if (peer) {
      break;
    }
  }
  if (!peer) {
    return std::unexpected(peer.error().kind == ErrorKind::kNotFound
                               ? Error{ErrorKind::kUnavailable, peer.error().message}
                               : peer.error());
  }
  found.process = *peer;
  TRY_ASSIGN(found.words, host::CommandLine(found.process.pid));
  const std::string engine = EngineOf(found.words);
  found.engine = given || engine.empty() ? flags.runtime : engine;
  if (found.engine != flags.runtime) {
    found.remarks.push_back(
        format("the kubelet's runtime on {} is {}, not {}; it is the one that "
               "is configured",
               found.socket, found.engine, flags.runtime));
  }
  if (found.engine == "docker") {
    TRY(FindDocker(flags, found));
  }
  TRY_ASSIGN(found.program, ProgramOf(flags, found));
  return found;
}

}  // namespace gantry::container_toolkit
