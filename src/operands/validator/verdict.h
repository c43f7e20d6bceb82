// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "host/driver_verdict.h"
#include "host/status_files.h"

// What the stages' observations mean, and what is to be done about their status files.
namespace gantry::validator {

// How a question to a child process ended.
struct Answer {
  enum class End { kSaid, kTimeout, kDied };
  End end = End::kDied;
  int exit_code = -1;
  host::StatusValues values;  // the lines NAME=value that it printed
  std::string text;           // all that it printed
};

struct Finding {
  enum class State {
    kReady,
    kNotReady,   // seen: it is not so
    kSkipped,    // cannot be so on this node, and nothing waits for it
    kNotNeeded,  // not asked of this node
    kUnknown,    // could not be seen: what was true stays
  };
  State state = State::kUnknown;
  std::string reason;  // one word
  std::string message;
  std::string remedy;         // of a finding that is ready: what is to be done all the same
  host::StatusValues values;  // of the status file
  bool waits = false;         // not ready for want of another stage, which says why itself
  bool operator==(const Finding&) const = default;
};

// `asked` is NVML's answer; nothing if the driver was not to be asked.
Finding JudgeDriverStage(const host::DriverVerdict& verdict, const std::optional<Answer>& asked);

struct CdiDocument {
  std::string path;                  // on the host
  std::string error;                 // why it cannot be read; empty: it can
  std::vector<std::string> missing;  // host paths that it names and that are not there
};

struct ToolkitObservation {
  std::string hook;               // nvidia-cdi-hook, on the host
  bool hook_is_program = false;   // a regular file that can be run
  bool hook_is_script = false;    // by a program of the host, which is not here
  std::optional<Answer> version;  // of `nvidia-cdi-hook --version`
  bool cdi_wanted = true;
  std::optional<CdiDocument> management;  // the management CDI document, if it is there
  // Why the container runtime has not got what the toolkit wants; empty: it has.
  std::string failure;
  bool serves = false;         // but it still has what worked before
  bool needs_restart = false;  // it gets it when somebody restarts it
};
Finding JudgeToolkit(const ToolkitObservation& seen);

// `asked` is cuInit's answer; with kUnaskedLine this process could not ask it.
inline constexpr char kUnaskedLine[] = "unasked";
Finding JudgeCuda(const Answer& asked, const std::string& driver_version);
Finding CudaWorks(std::string message, const std::string& driver_version);

// `asked` is the kubelet's list of allocatable devices: lines RESOURCE=count. Their sum stands in
// the status file, as kDevicesLine. `missing_hooks`: programs that the start of each container with
// a GPU calls, and that the host has not.
Finding JudgePlugin(const Answer& asked, const std::string& kubelet_root,
                    const std::vector<std::string>& missing_hooks = {});
inline constexpr char kDevicesLine[] = "GANTRY_DEVICES";

// What the validator knows about one stage.
struct StageMemory {
  std::optional<Finding> last;             // told last
  bool file_there = false;                 // of this boot
  std::optional<SteadyTime> not_ready_at;  // since when, while the file is still there
};

struct Step {
  enum class File { kKeep, kWrite, kRemove };
  File file = File::kKeep;
  bool tell = false;                     // the finding is news: log it
  std::optional<SteadyTime> look_again;  // when to judge again although nothing happened
};

// What a new finding does. A file goes only when `hold` has passed since it was first seen not to
// be true: a kubelet that starts anew lists no device for a moment.
Step Decide(StageMemory& memory, const Finding& finding, std::chrono::milliseconds hold,
            SteadyTime now);

}  // namespace gantry::validator
