// SPDX-License-Identifier: Apache-2.0
// How does a probe's child process answer? It calls NVML, starts CUDA, lists the kubelet's devices,
// makes device nodes, or reports to the cluster. It prints NAME=value lines and ends, which frees
// everything that a library left behind.
#include <dlfcn.h>
#include <grp.h>
#include <unistd.h>

#include <cstdio>
#include <map>

#include "base/text.h"
#include "gpu/open_nvml.h"
#include "gpu/products.h"
#include "host/device_nodes.h"
#include "kubelet/pod_resources.h"
#include "nvml/dev_root.h"
#include "operands/validator/cluster.h"
#include "operands/validator/probe.h"

namespace gantry::validator {
namespace {

int Say(const std::string& text, int exit_code) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  return exit_code;
}

// From here on this process runs as the user nobody: for root, the CUDA library makes and replaces
// device nodes under /dev, and a check must not change anything.
bool BecomeNobody() {
  constexpr uid_t kNobody = 65534;
  return geteuid() != 0 ||
         (setgroups(0, nullptr) == 0 && setgid(kNobody) == 0 && setuid(kNobody) == 0);
}

Result<std::string> AskNvml(const Flags& flags) {
  TRY_ASSIGN(const auto library,
             gpu::OpenNvml({.library = flags.probe_library, .dev_root = flags.probe_root}));
  TRY_ASSIGN(const std::string version, library->DriverVersion());
  TRY_ASSIGN(const nvml::Devices devices, library->Enumerate());
  // An unreadable one may also be for containers.
  size_t count = devices.failed.size();
  for (const nvml::Device& device : devices.found) {
    count += gpu::IsForContainers(device.name) ? 1 : 0;
  }
  return format("version={}\ngpus={}\n", version, count);
}

// A library that this process cannot open may still work with the node's own C library: then
// NVIDIA's program decides.
int RunProgram(const Flags& flags) {
  if (chroot(flags.probe_root.c_str()) != 0 || chdir("/") != 0) {
    return 1;
  }
  const char* list = flags.probe == "nvml" ? "-L" : nullptr;
  execl(flags.probe_program.c_str(), flags.probe_program.c_str(), list, nullptr);
  return 1;
}

int Nvml(const Flags& flags) {
  const Result<std::string> said = AskNvml(flags);
  if (said) {
    return Say(*said, 0);
  }
  const bool opens = dlopen(flags.probe_library.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr;
  const int code = opens || flags.probe_program.empty() ? 1 : RunProgram(flags);
  return Say("error=" + said.error().message + "\n", code);
}

int Cuda(const Flags& flags) {
  nvml::EnterDevRoot(flags.probe_root);
  const std::string& path = flags.probe_library;
  if (access(path.c_str(), F_OK) != 0) {
    return Say(format("error=there is no {}\n", path), 1);
  }
  // A failed call in this process is not final: it may work with the node's own C library.
  const auto unasked = [](const std::string& why) {
    return Say(format("{}=true\nerror={}\n", kUnaskedLine, why), 1);
  };
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr || !BecomeNobody()) {
    const char* why = dlerror();
    return unasked(
        format("open {}: {}", path, why != nullptr ? why : "cannot become an unprivileged user"));
  }
  // The CUDA driver API's own signatures (cuda.h); CUresult is an int, 0 is success.
  using Init = int (*)(unsigned);
  using Count = int (*)(int*);
  const auto init = reinterpret_cast<Init>(dlsym(library, "cuInit"));
  const auto count = reinterpret_cast<Count>(dlsym(library, "cuDeviceGetCount"));
  if (init == nullptr || count == nullptr) {
    return unasked(path + " has no cuInit");
  }
  if (const int code = init(0); code != 0) {
    return Say(format("code={}\nerror=cuInit answers {}\n", code, code), 1);
  }
  int devices = 0;
  if (const int code = count(&devices); code != 0 || devices == 0) {
    return Say(
        format("code={}\nerror=cuDeviceGetCount answers {}, {} device(s)\n", code, code, devices),
        1);
  }
  return Say(format("devices={}\n", devices), 0);
}

int Plugin(const Flags& flags) {
  const kubelet::PodResourcesClient client(flags.probe_socket);
  const auto devices = client.Allocatable();
  if (!devices) {
    return Say("error=" + devices.error().message + "\n", 1);
  }
  std::map<std::string, size_t> counts;
  for (const kubelet::ContainerDevices& each : *devices) {
    counts[each.resource] += each.ids.size();
  }
  std::string text;
  for (const auto& [resource, count] : counts) {
    text += format("{}={}\n", resource, count);
  }
  return Say(text, 0);
}

int Done(const Status& status) {
  return status ? 0 : Say("error=" + status.error().message + "\n", 1);
}

}  // namespace

int AnswerProbe(const Flags& flags) {
  if (flags.probe == "nvml") {
    return Nvml(flags);
  }
  if (flags.probe == "cuda") {
    return Cuda(flags);
  }
  if (flags.probe == "program") {
    return RunProgram(flags);
  }
  if (flags.probe == "nodes") {
    return Done(host::MakeDeviceNodes(flags.host_root_here, flags.probe_root));
  }
  if (flags.probe == "publish") {
    return Done(Publish(flags, flags.probe_reason, flags.probe_message));
  }
  return Plugin(flags);
}

}  // namespace gantry::validator
