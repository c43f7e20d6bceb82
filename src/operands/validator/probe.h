// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/paths.h"
#include "operands/validator/flags.h"
#include "operands/validator/verdict.h"

// Questions that may hang are asked by a child process, which can be given up.
namespace gantry::validator {

// One child process. Killed and reaped when the object goes.
class Probe {
 public:
  // Starts argv[0] (a path) with stdout and stderr read here.
  static Result<Probe> Start(const std::vector<std::string>& argv, std::chrono::milliseconds limit);

  Probe(Probe&& other) noexcept;
  Probe& operator=(Probe&& other) noexcept;
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  ~Probe();

  // Readable when the child has ended.
  [[nodiscard]] int fd() const { return process_.get(); }
  [[nodiscard]] SteadyTime deadline() const { return deadline_; }
  // After fd became readable or the deadline passed: how it ended; a child that still runs is
  // killed. Blocks for a tenth of a second at most, also on a child that the kernel keeps alive.
  Answer Take();

 private:
  Probe(pid_t pid, Fd process, Fd output, SteadyTime deadline)
      : pid_(pid), process_(std::move(process)), output_(std::move(output)), deadline_(deadline) {}
  void Kill();

  pid_t pid_;
  Fd process_;
  Fd output_;
  SteadyTime deadline_;
};

// The child's side: asks what --probe says, prints NAME=value lines, returns the exit code.
int AnswerProbe(const Flags& flags);

}  // namespace gantry::validator
