// SPDX-License-Identifier: Apache-2.0
// How does a process make a call that may never return, or that loads memory it need not keep? In a
// forked child, through a pipe. A child in an uninterruptible call into a driver can't even be
// killed; then no second one is started until the first has ended.
#include "host/child_call.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/clock.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/watch.h"

namespace gantry::host {
namespace {

// The result is one letter and a text: 'y', or the kind of the error.
constexpr char kSucceeded = 'y';
constexpr char kFirstKind = 'A';

constexpr std::chrono::seconds kLeave(1);

[[noreturn]] void RunChild(const std::function<Result<std::string>()>& call, pid_t parent,
                           int out) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(1);
  }
  const Result<std::string> answer = call();
  const Status told = WriteDescriptor(
      out,
      answer.has_value() ? kSucceeded + *answer
                         : static_cast<char>(kFirstKind + static_cast<int>(answer.error().kind)) +
                               answer.error().message,
      "the answer");
  _exit(told.has_value() ? 0 : 1);
}

// Everything from the pipe until its other end closes; what came so far if the deadline passes or
// the stop comes first (`ended` is false then).
std::string ReadAll(int in, int stop_fd, SteadyTime deadline, bool& ended) {
  std::string text;
  std::array<char, 4096> part{};
  ended = false;
  while (true) {
    const std::array<int, 2> descriptors = {in, stop_fd};
    const std::vector<bool> ready = WaitReadable(descriptors, deadline);
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

Result<std::string> ChildCall::Run(const std::function<Result<std::string>()>& call,
                                   std::chrono::milliseconds limit, int stop_fd) {
  if (child_.has_value() && !child_->AwaitEnd(RealClock().Now())) {
    return Fail(ErrorKind::kTimeout,
                format("{}: process {} still hangs in it", what_, child_->pid()));
  }
  child_.reset();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return FailErrno(what_ + ": pipe", errno);
  }
  const Fd in(ends[0]);
  Fd out(ends[1]);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    return FailErrno(what_ + ": fork", errno);
  }
  if (pid == 0) {
    RunChild(call, parent, out.get());
  }
  child_.emplace(pid);
  out = Fd();
  bool ended = false;
  std::string text = ReadAll(in.get(), stop_fd, RealClock().Now() + limit, ended);
  if (!ended) {
    kill(pid, SIGKILL);
    return Fail(ErrorKind::kTimeout, format("{}: no answer within {} ms", what_, limit.count()));
  }
  // The child is in _exit or dead; closing the driver's devices there may hang as any call into it.
  child_->AwaitEnd(RealClock().Now() + kLeave);
  if (text.empty()) {
    return Fail(ErrorKind::kUnavailable, what_ + ": the process that did it died");
  }
  const char sort = text.front();
  text.erase(0, 1);
  if (sort == kSucceeded) {
    return text;
  }
  return Fail(static_cast<ErrorKind>(sort - kFirstKind), std::move(text));
}

}  // namespace gantry::host
