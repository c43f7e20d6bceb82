// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/paths.h"
#include "operands/device_plugin/mps_control_daemon/mps_room.h"

namespace gantry::device_plugin {

// A running nvidia-cuda-mps-control, in the foreground so that its end is noticed. It and its
// servers end with this process, and with this object.
class MpsProgram {
 public:
  // `environment` is its complete environment. Its output goes to this process' outputs.
  static Result<MpsProgram> Start(MpsRoom room, std::vector<std::string> environment);
  MpsProgram(MpsProgram&& other) noexcept;
  MpsProgram& operator=(MpsProgram&&) = delete;
  ~MpsProgram();

  // Readable once it has ended.
  [[nodiscard]] int end_fd() const { return end_.get(); }

  // Gives one command to its client on standard input, as `echo COMMAND | nvidia-cuda-mps-control`
  // does, and waits for the response. kUnavailable: the client reports an error.
  Result<std::string> Ask(const std::string& command, std::chrono::milliseconds limit) const;

 private:
  MpsProgram(MpsRoom room, std::vector<std::string> environment, pid_t pid, Fd end);

  MpsRoom room_;
  std::vector<std::string> environment_;
  pid_t pid_;
  Fd end_;  // a pidfd
};

}  // namespace gantry::device_plugin
