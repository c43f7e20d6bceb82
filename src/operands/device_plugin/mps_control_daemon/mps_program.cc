// SPDX-License-Identifier: Apache-2.0
// How is NVIDIA's MPS control daemon started, controlled and ended? By the driver's program: `-f`
// is the daemon, and without arguments it is its client, which reads commands from its standard
// input (nvidia-cuda-mps-control(1)).
#include "operands/device_plugin/mps_control_daemon/mps_program.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "host/watch.h"

namespace gantry::device_plugin {
namespace {

constexpr int kCannotStart = 126;

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (auto& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

// In a forked child; descriptors below 0 do not change.
[[noreturn]] void Become(const MpsRoom& room, char* const* argv, char* const* environment,
                         pid_t parent, int input, int output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(kCannotStart);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setpgid(0, 0);
  if (input >= 0) {
    dup2(input, 0);
  }
  if (output >= 0) {
    dup2(output, 1);
    dup2(output, 2);
  }
  const char* failed = EnterMpsRoom(room);
  if (failed == nullptr) {
    execve(argv[0], argv, environment);
    failed = argv[0];
  }
  dprintf(2, "start nvidia-cuda-mps-control: %s: %s\n", failed, std::strerror(errno));
  _exit(kCannotStart);
}

struct Pipe {
  Fd read;
  Fd write;
};

Result<Pipe> MakePipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return FailErrno("make a pipe", errno);
  }
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

// Reads until the other end closes; false: the deadline passed first.
bool ReadAll(int in, SteadyTime deadline, std::string& text) {
  std::array<char, 4096> part{};
  while (host::WaitReadable(std::array{in}, deadline)[0]) {
    const ssize_t count = read(in, part.data(), part.size());
    if (count == 0) {
      return true;
    }
    if (count > 0) {
      text.append(part.data(), static_cast<size_t>(count));
    }
  }
  return false;
}

int WaitFor(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

MpsProgram::MpsProgram(MpsRoom room, std::vector<std::string> environment, pid_t pid, Fd end)
    : room_(std::move(room)),
      environment_(std::move(environment)),
      pid_(pid),
      end_(std::move(end)) {}

MpsProgram::MpsProgram(MpsProgram&& other) noexcept
    : room_(std::move(other.room_)),
      environment_(std::move(other.environment_)),
      pid_(std::exchange(other.pid_, 0)),
      end_(std::move(other.end_)) {}

Result<MpsProgram> MpsProgram::Start(MpsRoom room, std::vector<std::string> environment) {
  std::vector<std::string> words = {room.program, "-f"};
  const auto argv = Pointers(words);
  const auto variables = Pointers(environment);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    return FailErrno("start nvidia-cuda-mps-control", errno);
  }
  if (pid == 0) {
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    Become(room, argv.data(), variables.data(), parent, null, -1);
  }
  // No other process can get its number before it is reaped.
  Fd end(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  const int reason = errno;
  MpsProgram started(std::move(room), std::move(environment), pid, std::move(end));
  if (!started.end_.valid()) {
    return FailErrno("watch nvidia-cuda-mps-control", reason);
  }
  return started;
}

MpsProgram::~MpsProgram() {
  if (pid_ > 0) {
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
    WaitFor(pid_);
  }
}

Result<std::string> MpsProgram::Ask(const std::string& command,
                                    std::chrono::milliseconds limit) const {
  TRY_ASSIGN(Pipe input, MakePipe());
  TRY_ASSIGN(Pipe output, MakePipe());
  std::vector<std::string> words = {room_.program};
  auto environment = environment_;
  const auto argv = Pointers(words);
  const auto variables = Pointers(environment);
  const auto deadline = RealClock().Now() + limit;
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    return FailErrno(format("tell MPS '{}'", command), errno);
  }
  if (pid == 0) {
    Become(room_, argv.data(), variables.data(), parent, input.read.get(), output.write.get());
  }
  output.write = Fd();
  // A pipe holds more than any command; a client that has ended has already reported why.
  const auto line = command + "\n";
  [[maybe_unused]] const auto written = write(input.write.get(), line.data(), line.size());
  input.read = Fd();
  input.write = Fd();
  std::string answer;
  const bool ended = ReadAll(output.read.get(), deadline, answer);
  if (!ended) {
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
  }
  const int status = WaitFor(pid);
  if (!ended) {
    return Fail(ErrorKind::kTimeout,
                format("tell MPS '{}': no answer within {} ms", command, limit.count()));
  }
  if (status != 0) {
    return Fail(ErrorKind::kUnavailable, format("tell MPS '{}': {}", command, Trim(answer)));
  }
  return std::string(Trim(answer));
}

}  // namespace gantry::device_plugin
