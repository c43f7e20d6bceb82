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

// Calls that may hang are made in a child process, which can be abandoned.
namespace gantry::validator {

// One child process. Killed and reaped with the object.
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
  // Call it when fd is readable or the deadline has passed: returns how the child ended; a running
  // child is killed. Blocks for a tenth of a second at most, also if the kernel keeps the child
  // alive.
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

// The child's side: makes the call that --probe names, prints NAME=value lines, returns the exit
// code.
int AnswerProbe(const Flags& flags);

}  // namespace gantry::validator
