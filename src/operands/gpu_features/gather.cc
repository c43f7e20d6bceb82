// SPDX-License-Identifier: Apache-2.0
// Which GPUs does this node have? NVML tells of the GPUs, sysfs of the PCI functions and the
// machine. NVML is asked in a forked child: a call into a driver can hang for ever, and a process
// in such a call cannot even be killed; then no second child is started before the first has gone.
#include "operands/gpu_features/gather.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/pci.h"
#include "host/watch.h"
#include "nvml/dev_root.h"
#include "operands/gpu_features/vgpu.h"

namespace gantry::gpu_features {
namespace {

Status GatherDriver(const Sources& sources, Facts& facts) {
  nvml::Library::Options options{.library = "libnvidia-ml.so.1", .sys = sources.sys_root};
  if (!sources.driver_root.empty()) {
    TRY_ASSIGN(options.library, nvml::FindLibrary(sources.driver_root));
  }
  TRY_ASSIGN(const auto library, nvml::Library::Open(options));
  TRY_ASSIGN(facts.driver_version, library->DriverVersion());
  TRY_ASSIGN(facts.cuda_version, library->CudaVersion());
  TRY_ASSIGN(nvml::Devices devices, library->Enumerate());
  if (devices.found.empty() && !devices.failed.empty()) {
    return std::unexpected(devices.failed.front().error.In("read GPUs"));
  }
  facts.gpus = std::move(devices.found);
  facts.failed_gpus = static_cast<int>(devices.failed.size());
  return {};
}

Status GatherPci(const Sources& sources, Facts& facts) {
  TRY_ASSIGN(const auto functions, host::ListPci(sources.sys_root));
  facts.config_space_readable = true;
  for (const host::PciFunction& function : functions) {
    if (function.vendor != host::kNvidiaVendor) {
      continue;
    }
    facts.pci_classes[function.address] = function.class_code;
    const Result<std::string> space =
        ReadFile(format("{}/bus/pci/devices/{}/config", sources.sys_root, function.address));
    if (!space.has_value() || space->size() < kConfigSpaceSize) {
      facts.config_space_readable = false;
    } else if (!facts.vgpu.has_value()) {
      facts.vgpu = FindVgpuHost(*space);
    }
  }
  return {};
}

Json Answer(const Sources& sources) {
  nvml::EnterDevRoot(sources.dev_root);
  const Result<Facts> facts = Gather(sources);
  if (facts.has_value()) {
    return {{"facts", ToJson(*facts)}};
  }
  return {{"kind", static_cast<int>(facts.error().kind)}, {"error", facts.error().message}};
}

Result<Facts> Understand(const std::string& text) {
  const Result<Json> json = ParseJson(text);
  if (!json.has_value()) {
    return Fail(ErrorKind::kUnavailable, "ask the driver: the process that asked died");
  }
  if (const Json* facts = At(*json, "facts"); facts != nullptr) {
    return FactsFromJson(*facts);
  }
  return Fail(static_cast<ErrorKind>(IntAt(*json, "kind", 0)), TextAt(*json, "error"));
}

[[noreturn]] void RunChild(const Sources& sources, pid_t parent, int out) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(1);
  }
  const std::string text = Answer(sources).dump(-1, ' ', false, Json::error_handler_t::replace);
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(out, text.data() + written, text.size() - written);
    if (count < 0 && errno != EINTR) {
      _exit(1);
    }
    written += count > 0 ? static_cast<size_t>(count) : 0;
  }
  _exit(0);
}

// Everything that comes through the pipe until its other end closes; what came so far if the
// deadline passes or the stop comes first (`ended` is false then).
std::string ReadAll(int in, int stop_fd, SteadyTime deadline, bool& ended) {
  std::string text;
  std::array<char, 4096> part{};
  ended = false;
  while (true) {
    const std::array<int, 2> descriptors = {in, stop_fd};
    const std::vector<bool> ready = host::WaitReadable(descriptors, deadline);
    if (!ready[0] || ready[1]) {
      return text;
    }
    const ssize_t count = read(in, part.data(), part.size());
    if (count == 0) {
      ended = true;
      return text;
    }
    if (count > 0) {
      text.append(part.data(), static_cast<size_t>(count));
    }
  }
}

}  // namespace

Result<Facts> Gather(const Sources& sources) {
  Facts facts;
  TRY(GatherDriver(sources, facts));
  TRY(GatherPci(sources, facts));
  if (!sources.machine_type_file.empty()) {
    facts.machine = ReadFile(sources.machine_type_file).value_or("");
  }
  return facts;
}

Gatherer::~Gatherer() { Hanging(); }

std::optional<pid_t> Gatherer::Hanging() {
  if (child_.has_value() && waitpid(*child_, nullptr, WNOHANG) != 0) {
    child_.reset();
  }
  return child_;
}

Result<Facts> Gatherer::Ask(const Sources& sources, std::chrono::milliseconds limit, int stop_fd) {
  if (const std::optional<pid_t> hanging = Hanging(); hanging.has_value()) {
    return Fail(ErrorKind::kTimeout,
                format("ask the driver: process {} still hangs in it", *hanging));
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return FailErrno("ask the driver: pipe", errno);
  }
  const Fd in(ends[0]);
  Fd out(ends[1]);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    return FailErrno("ask the driver: fork", errno);
  }
  if (pid == 0) {
    RunChild(sources, parent, out.get());
  }
  child_ = pid;
  out = Fd();
  bool ended = false;
  const std::string text = ReadAll(in.get(), stop_fd, RealClock().Now() + limit, ended);
  if (ended) {
    // The pipe closed: the child is in _exit or dead, so this does not block.
    waitpid(pid, nullptr, 0);
    child_.reset();
    return Understand(text);
  }
  kill(pid, SIGKILL);
  return Fail(ErrorKind::kTimeout, format("ask the driver: no answer within {} ms", limit.count()));
}

}  // namespace gantry::gpu_features
