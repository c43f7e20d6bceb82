// SPDX-License-Identifier: Apache-2.0
// Is a stage ready, and is its status file written or removed? Decided by observations of the
// driver, the toolkit's files, cuInit's code and the kubelet's list. A stage becomes not ready only
// when it was observed to fail; a failed observation changes nothing.
#include "operands/validator/verdict.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "kubelet/folders.h"
#include "policy/names.h"
#include "policy/reasons.h"

namespace gantry::validator {
namespace {

using State = Finding::State;

Finding NotReady(std::string reason, std::string message, std::string remedy) {
  return {.state = State::kNotReady,
          .reason = std::move(reason),
          .message = std::move(message),
          .remedy = std::move(remedy),
          .values = {}};
}

Finding NotReady(const reasons::Reason& reason, std::string message, std::string remedy) {
  return NotReady(reason.code, std::move(message), std::move(remedy));
}

std::string FirstLine(std::string_view text) {
  const std::string_view trimmed = Trim(text);
  return std::string(trimmed.substr(0, trimmed.find('\n')));
}

std::string ErrorOf(const Answer& answer) {
  const auto error = answer.values.find("error");
  return error != answer.values.end() ? error->second : FirstLine(answer.text);
}

std::string ValueOr(const host::StatusValues& values, const std::string& name,
                    std::string_view fallback) {
  const auto value = values.find(name);
  return value != values.end() ? value->second : std::string(fallback);
}

host::StatusValues DriverLines(const host::DriverVerdict& verdict) {
  return {{"IS_HOST_DRIVER", verdict.kind == host::DriverKind::kHost ? "true" : "false"},
          {"NVIDIA_DRIVER_ROOT", verdict.driver_root},
          {"DRIVER_ROOT_CTR_PATH", verdict.driver_root_here},
          {"NVIDIA_DEV_ROOT", verdict.dev_root},
          {"DEV_ROOT_CTR_PATH", verdict.dev_root_here},
          {host::kDriverVersionLine, verdict.version}};
}

}  // namespace

Finding JudgeDriverStage(const host::DriverVerdict& verdict, const std::optional<Answer>& asked) {
  if (verdict.kind == host::DriverKind::kNone) {
    return NotReady(verdict.reason, verdict.message, verdict.remedy);
  }
  if (asked && asked->end == Answer::End::kTimeout) {
    return NotReady(reasons::kDriverHangs, "the driver does not answer",
                    "look into the node's kernel log for NVRM and Xid lines; a hung driver needs a "
                    "restart of the node");
  }
  if (asked && (asked->end == Answer::End::kDied || asked->exit_code != 0)) {
    return NotReady(reasons::kDriverFails,
                    format("the driver answers with an error: {}", ErrorOf(*asked)),
                    "run `nvidia-smi` on the node; its kernel log (NVRM, Xid) says more");
  }
  if (asked && ValueOr(asked->values, "gpus", "") == "0") {
    return NotReady(reasons::kNoGpuAnswers,
                    "the driver is loaded and reports no GPU for containers",
                    "run `nvidia-smi` on the node; its kernel log (NVRM, Xid) says more");
  }
  return {.state = State::kReady,
          .reason = verdict.reason,
          .message = verdict.message,
          .remedy = "",
          .values = DriverLines(verdict)};
}

Finding JudgeToolkit(const ToolkitObservation& seen) {
  if (!seen.hook_is_program) {
    return NotReady(reasons::kToolkitNotInstalled, format("{} is not there", seen.hook),
                    "the container toolkit's pod on this node installs it: look at its log");
  }
  if (seen.version && (seen.version->end != Answer::End::kSaid || seen.version->exit_code != 0)) {
    return NotReady(reasons::kToolkitBroken,
                    format("{} does not run: {}", seen.hook, ErrorOf(*seen.version)),
                    "delete the file: the container toolkit installs it again");
  }
  if (seen.cdi_wanted) {
    if (!seen.management) {
      return NotReady(reasons::kCdiMissing, "the management CDI document is not there",
                      "the container toolkit's pod on this node writes it: look at its log");
    }
    if (!seen.management->error.empty()) {
      return NotReady(reasons::kCdiInvalid, seen.management->error,
                      "delete the file: the container toolkit writes it again");
    }
    if (!seen.management->missing.empty()) {
      return NotReady(reasons::kCdiStale,
                      format("{} names {}, which is not there", seen.management->path,
                             seen.management->missing.front()),
                      "the driver's files changed; the container toolkit writes the document again "
                      "when it sees the driver whole");
    }
  }
  constexpr char kToolkitsLog[] =
      "the container toolkit tries again when the container runtime's files change; the log of its "
      "pod on this node says more";
  if (!seen.failure.empty() && !seen.serves && seen.needs_restart) {
    return NotReady(
        reasons::kRuntimeNeedsRestart, seen.failure,
        "restart the container runtime on the node, or delete RUNTIME_RESTART_MODE from "
        "toolkit.env so that the container toolkit restarts it");
  }
  if (!seen.failure.empty() && !seen.serves) {
    return NotReady(reasons::kRuntimeNotConfigured, seen.failure, kToolkitsLog);
  }
  if (!seen.failure.empty()) {
    // Pods get their GPUs as before.
    return {.state = State::kReady,
            .reason = "RuntimeAsBefore",
            .message = "the container runtime keeps its earlier configuration: " + seen.failure,
            .remedy = kToolkitsLog,
            .values = {}};
  }
  return {.state = State::kReady,
          .reason = "ToolkitInstalled",
          .message = seen.hook,
          .remedy = "",
          .values = {}};
}

Finding CudaWorks(std::string message, const std::string& driver_version) {
  return {.state = State::kReady,
          .reason = "CudaWorks",
          .message = std::move(message),
          .remedy = "",
          .values = {{host::kDriverVersionLine, driver_version}}};
}

Finding JudgeCuda(const Answer& asked, const std::string& driver_version) {
  if (asked.end == Answer::End::kTimeout) {
    return NotReady(reasons::kCudaHangs, "cuInit does not return",
                    "look into the node's kernel log for NVRM and Xid lines");
  }
  if (asked.end == Answer::End::kSaid && asked.exit_code == 0) {
    return CudaWorks(format("{} CUDA device(s)", ValueOr(asked.values, "devices", "?")),
                     driver_version);
  }
  const std::string code = ValueOr(asked.values, "code", "");
  if (code == "802") {  // CUDA_ERROR_SYSTEM_NOT_READY
    return NotReady(reasons::kFabricManagerNotReady,
                    "cuInit: the system is not yet initialized (802)",
                    "start nvidia-fabricmanager, in the driver's version, on this node");
  }
  if (code == "803" || code == "804") {  // SYSTEM_DRIVER_MISMATCH, COMPAT_NOT_SUPPORTED_ON_DEVICE
    return NotReady(reasons::kCudaVersionMismatch,
                    format("cuInit: driver and libcuda differ ({})", code),
                    "restart the node, so that the kernel module is the installed driver's");
  }
  // CUDA_ERROR_NO_DEVICE, or success with none: MIG mode without instances.
  const bool no_device = code == "100" || code == "0";
  if (!no_device && !asked.values.contains(kUnaskedLine)) {
    return NotReady(reasons::kCudaFails, format("CUDA does not start: {}", ErrorOf(asked)),
                    "run `nvidia-smi` on the node; its kernel log (NVRM, Xid) says more");
  }
  return {.state = State::kSkipped,
          .reason = "NoCudaDeviceAnswers",
          .message = format("no CUDA device answers: {}", ErrorOf(asked)),
          .remedy = "",
          .values = {}};
}

Finding JudgePlugin(const Answer& asked, const std::string& kubelet_root,
                    const std::vector<std::string>& missing_hooks) {
  if (asked.end != Answer::End::kSaid || asked.exit_code != 0) {
    return {.state = State::kUnknown,
            .reason = reasons::kKubeletDoesNotAnswer.code,
            .message = format("no kubelet answers on this node at {}{}",
                              kubelet::PodResourcesSocket(kubelet_root),
                              asked.end == Answer::End::kTimeout ? "" : ": " + ErrorOf(asked)),
            .remedy = format("look whether the kubelet runs there, and whether its --root-dir is "
                             "{} as hostPaths.kubeletRootDir says",
                             kubelet_root),
            .values = {}};
  }
  std::vector<std::string> listed;
  long long devices = 0;
  for (const auto& [resource, count] : asked.values) {
    if (names::IsGpuResource(resource)) {
      listed.push_back(format("{}: {}", resource, count));
      devices += ParseInt(count).value_or(0);
    }
  }
  if (listed.empty()) {
    return NotReady(reasons::kNoGpuAllocatable, "the kubelet lists no nvidia.com/gpu device",
                    "look at the log of the device plugin's pod on this node");
  }
  if (!missing_hooks.empty()) {
    return NotReady(reasons::kCdiHookMissing,
                    format("no container with a GPU can start: its CDI document calls {}, which is "
                           "not there",
                           Join(missing_hooks, ", ")),
                    "install NVIDIA's Container Toolkit on the node, or set toolkit.enabled=true");
  }
  return {.state = State::kReady,
          .reason = "GpusAllocatable",
          .message = Join(listed, ", "),
          .remedy = "",
          .values = {{kDevicesLine, std::to_string(devices)}}};
}

Step Decide(StageMemory& memory, const Finding& finding, std::chrono::milliseconds hold,
            SteadyTime now) {
  Step step;
  step.tell = !memory.last || memory.last->state != finding.state ||
              memory.last->reason != finding.reason || memory.last->message != finding.message;
  const bool values_changed = memory.last && memory.last->values != finding.values;
  memory.last = finding;
  if (finding.state == State::kReady) {
    memory.not_ready_at.reset();
    if (!memory.file_there || values_changed || step.tell) {
      step.file = Step::File::kWrite;
      memory.file_there = true;
    }
    return step;
  }
  if (finding.state == State::kUnknown || !memory.file_there) {
    return step;
  }
  if (!memory.not_ready_at) {
    memory.not_ready_at = now;
  }
  if (now - *memory.not_ready_at >= hold) {
    step.file = Step::File::kRemove;
    memory.file_there = false;
    memory.not_ready_at.reset();
  } else {
    step.look_again = *memory.not_ready_at + hold;
  }
  return step;
}

}  // namespace gantry::validator
