// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "host/driver_verdict.h"
#include "host/status_files.h"

// The meaning of the stages' observations, and what to do with their status files.
namespace gantry::validator {

// The result of a question to a child process.
struct Answer {
  enum class End { kSaid, kTimeout, kDied };
  End end = End::kDied;
  int exit_code = -1;
  host::StatusValues values;  // the lines NAME=value that it printed
  std::string text;           // all its output
};

struct Finding {
  enum class State {
    kReady,
    kNotReady,   // observed to fail
    kSkipped,    // impossible on this node, and nothing waits for it
    kNotNeeded,  // not required on this node
    kUnknown,    // could not be observed: the earlier state stays
  };
  State state = State::kUnknown;
  std::string reason;  // one word
  std::string message;
  std::string remedy;         // with a ready finding: what to do nevertheless
  host::StatusValues values;  // of the status file
  bool waits = false;         // not ready because of another stage, which reports why
  bool operator==(const Finding&) const = default;
};

// `asked` is NVML's answer; nothing if the driver was not called.
Finding JudgeDriverStage(const host::DriverVerdict& verdict, const std::optional<Answer>& asked);

struct CdiDocument {
  std::string path;                  // on the host
  std::string error;                 // why it is unreadable; empty: it is readable
  std::vector<std::string> missing;  // missing host paths in it
};

struct ToolkitObservation {
  std::string hook;               // nvidia-cdi-hook, on the host
  bool hook_is_program = false;   // an executable regular file
  bool hook_is_script = false;    // it needs an interpreter of the host, which is not here
  std::optional<Answer> version;  // of `nvidia-cdi-hook --version`
  bool cdi_wanted = true;
  std::optional<CdiDocument> management;  // the management CDI document, if it exists
  // Why the container runtime lacks the toolkit's configuration; empty: it has it.
  std::string failure;
  bool serves = false;         // but the earlier configuration still works
  bool needs_restart = false;  // it needs a restart by the user
};
Finding JudgeToolkit(const ToolkitObservation& seen);

// `asked` is cuInit's answer; with kUnaskedLine this process could not call it.
inline constexpr char kUnaskedLine[] = "unasked";
Finding JudgeCuda(const Answer& asked, const std::string& driver_version);
Finding CudaWorks(std::string message, const std::string& driver_version);

// `asked` is the kubelet's list of allocatable devices: lines RESOURCE=count. The status file has
// their sum, as kDevicesLine. `missing_hooks`: programs missing on the host that the start of each
// container with a GPU calls.
Finding JudgePlugin(const Answer& asked, const std::string& kubelet_root,
                    const std::vector<std::string>& missing_hooks = {});
inline constexpr char kDevicesLine[] = "GANTRY_DEVICES";

// The state of one stage.
struct StageMemory {
  std::optional<Finding> last;             // last reported
  bool file_there = false;                 // of this boot
  std::optional<SteadyTime> not_ready_at;  // since when, while the file still exists
};

struct Step {
  enum class File { kKeep, kWrite, kRemove };
  File file = File::kKeep;
  bool tell = false;                     // the finding is new: log it
  std::optional<SteadyTime> look_again;  // when to judge again without an event
};

// The effect of a new finding. A file is removed only after it has failed for `hold`: a restarted
// kubelet lists no device for a moment.
Step Decide(StageMemory& memory, const Finding& finding, std::chrono::milliseconds hold,
            SteadyTime now);

}  // namespace gantry::validator
