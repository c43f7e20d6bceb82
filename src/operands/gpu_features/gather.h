// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "operands/gpu_features/facts.h"

namespace gantry::gpu_features {

// Where the facts come from.
struct Sources {
  std::filesystem::path driver_root;  // as mounted here; empty: the loader finds NVML
  std::string dev_root;               // the same for the device nodes; empty: /dev as it is
  std::string sys_root;
  std::string machine_type_file;
};

// Asks the driver and sysfs. Blocks as long as the driver does. kNotFound: no library or no driver
// loaded; kUnavailable: there are GPUs, and none answers.
Result<Facts> Gather(const Sources& sources);

// Does so in a child process that is given up when it does not answer, so that a hanging driver
// never hangs its owner, and the library's memory goes with the child. Single-threaded.
class Gatherer {
 public:
  Gatherer() = default;
  Gatherer(const Gatherer&) = delete;
  Gatherer& operator=(const Gatherer&) = delete;
  ~Gatherer();

  // kTimeout: no answer within `limit`, or an earlier child still hangs in the driver;
  // kUnavailable: the child died, or `stop_fd` became readable.
  Result<Facts> Ask(const Sources& sources, std::chrono::milliseconds limit, int stop_fd);

 private:
  // The earlier child, if it has not ended yet.
  std::optional<pid_t> Hanging();
  std::optional<pid_t> child_;  // not yet reaped
};

}  // namespace gantry::gpu_features
