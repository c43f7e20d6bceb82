// SPDX-License-Identifier: Apache-2.0
// How is a program run with a deadline, and which process serves a socket? A program of the host
// runs under a chroot, as with `chroot /host containerd ...`, by fork: posix_spawn has no chroot.
#include "host/processes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>

#include "base/paths.h"
#include "base/text.h"
#include "host/child.h"
#include "host/watch.h"

namespace gantry::host {
namespace {

using std::chrono::steady_clock;

constexpr int kCannotStart = 127;
constexpr std::chrono::milliseconds kLookAgain(20);
constexpr std::chrono::seconds kKilled(1);

// In the child, between fork and exec: system calls only.
[[noreturn]] void Become(const char* root, const char* folder, char* const* argv, char* const* envp,
                         int output, int errors) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::setpgid(0, 0);
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, 0);
  ::dup2(output, 1);
  ::dup2(errors, 2);
  if ((root == nullptr || (::chroot(root) == 0 && ::chdir("/") == 0)) &&
      (folder == nullptr || ::chdir(folder) == 0)) {
    ::execve(argv[0], argv, envp);
  }
  ::_exit(kCannotStart);
}

// As execve takes them: pointers into the strings, which outlive them, and a null at the end.
std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

// This process' variables except those that `others` sets, and then these.
std::vector<std::string> Environment(std::vector<std::string> others) {
  const auto set = [&others](std::string_view name) {
    return std::ranges::any_of(others, [&](const std::string& other) {
      return std::string_view(other).substr(0, other.find('=')) == name;
    });
  };
  std::vector<std::string> all;
  for (char** own = environ; *own != nullptr; ++own) {
    const std::string_view variable = *own;
    if (!set(variable.substr(0, variable.find('=')))) {
      all.emplace_back(variable);
    }
  }
  std::ranges::move(others, std::back_inserter(all));
  return all;
}

struct Pipe {
  Fd read;
  Fd write;
};

Result<Pipe> MakePipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return FailErrno("make a pipe", errno);
  }
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

// Reads both to their end; false if the deadline passes or the stop comes first.
bool Drain(const Fd& output, const Fd& errors, int stop_fd, Finished& into, SteadyTime deadline) {
  std::array<int, 3> sources = {output.get(), errors.get(), stop_fd};
  while (sources[0] >= 0 || sources[1] >= 0) {
    const std::vector<bool> ready = WaitReadable(sources, deadline);
    if (ready[2] || steady_clock::now() >= deadline) {
      return false;
    }
    for (size_t i = 0; i < 2; ++i) {
      if (!ready[i]) {
        continue;
      }
      std::array<char, 16384> part{};
      const ssize_t count = ::read(sources.at(i), part.data(), part.size());
      if (count > 0) {
        (i == 0 ? into.output : into.errors).append(part.data(), static_cast<size_t>(count));
      } else if (count == 0 || errno != EINTR) {
        sources.at(i) = -1;
      }
    }
  }
  return true;
}

}  // namespace

Result<Finished> RunProgram(const Command& command) {
  if (command.words.empty()) {
    return Fail(ErrorKind::kInvalid, "start a program: no name given");
  }
  const std::string& name = command.words.front();
  const auto deadline = steady_clock::now() + command.limit;
  TRY_ASSIGN(Pipe output, MakePipe());
  TRY_ASSIGN(Pipe errors, MakePipe());
  std::vector<std::string> words = command.words;
  std::vector<std::string> variables =
      command.own_environment ? Environment(command.environment) : command.environment;
  const std::vector<char*> argv = Pointers(words);
  const std::vector<char*> envp = Pointers(variables);
  const char* root = command.root.empty() || command.root == "/" ? nullptr : command.root.c_str();
  const char* folder = command.folder.empty() ? nullptr : command.folder.c_str();
  const pid_t pid = ::fork();
  if (pid < 0) {
    return FailErrno("start " + name, errno);
  }
  if (pid == 0) {
    Become(root, folder, argv.data(), envp.data(), output.write.get(), errors.write.get());
  }
  output.write = Fd();
  errors.write = Fd();
  Child child(pid);
  Finished finished;
  std::optional<int> status;
  if (Drain(output.read, errors.read, command.stop_fd, finished, deadline)) {
    status = child.AwaitEnd(deadline, command.stop_fd);
  }
  if (!status) {
    ::kill(-pid, SIGKILL);
    ::kill(pid, SIGKILL);
    child.AwaitEnd(steady_clock::now() + kKilled);
    return WaitReadable(std::array{command.stop_fd}, steady_clock::now()).front()
               ? Fail(ErrorKind::kUnavailable, format("run {}: stopped", name))
               : Fail(ErrorKind::kTimeout,
                      format("run {}: no end after {} ms", name, command.limit.count()));
  }
  finished.exit_status = WIFSIGNALED(*status) ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status);
  if (finished.exit_status == kCannotStart && finished.output.empty() && finished.errors.empty()) {
    return Fail(ErrorKind::kNotFound, format("start {}: it cannot be executed", name));
  }
  return finished;
}

Result<std::string> FindInPath(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    return program;
  }
  const char* folders = std::getenv("PATH");
  for (const std::string& folder : Split(folders == nullptr ? "/usr/bin:/bin" : folders, ':')) {
    if (const std::string path = JoinPath(folder, program); ::access(path.c_str(), X_OK) == 0) {
      return path;
    }
  }
  return Fail(ErrorKind::kNotFound,
              format("find the program {}: it is in no folder of PATH", program));
}

Result<ProcessId> Identify(pid_t pid) {
  TRY_ASSIGN(const std::string text, ReadFile(format("/proc/{}/stat", pid)));
  // The second field, the name in brackets, may hold anything; count from its end.
  const size_t name_end = text.rfind(')');
  const std::vector<std::string> fields = name_end == std::string::npos
                                              ? std::vector<std::string>{}
                                              : Split(text.substr(name_end), ' ');
  constexpr size_t kStartTime = 20;  // the 22nd of all
  if (fields.size() <= kStartTime) {
    return Fail(ErrorKind::kInternal, format("read /proc/{}/stat: too few fields", pid));
  }
  return ProcessId{pid, std::strtoull(fields[kStartTime].c_str(), nullptr, 10)};
}

Result<ProcessId> SocketPeer(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return Fail(ErrorKind::kInvalid, format("connect to {}: the path is too long", path));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) {
    return FailErrno("connect to " + path, errno);
  }
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    if (errno == ECONNREFUSED || errno == EAGAIN) {
      return Fail(ErrorKind::kUnavailable, format("connect to {}: no process listens", path));
    }
    return FailErrno("connect to " + path, errno);
  }
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return FailErrno("ask who serves " + path, errno);
  }
  if (peer.pid <= 0) {
    return Fail(ErrorKind::kDenied,
                format("ask who serves {}: it is in another PID namespace", path));
  }
  return Identify(peer.pid);
}

Status SendSignal(const ProcessId& process, int signal_number) {
  const Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  const bool old_kernel = !handle.valid() && errno == ENOSYS;
  TRY_ASSIGN(const ProcessId now, Identify(process.pid));
  if (now != process || (!handle.valid() && !old_kernel)) {
    return Fail(ErrorKind::kNotFound, format("signal process {}: it ended", process.pid));
  }
  const long sent = old_kernel
                        ? ::kill(process.pid, signal_number)
                        : ::syscall(SYS_pidfd_send_signal, handle.get(), signal_number, nullptr, 0);
  if (sent != 0) {
    return errno == ESRCH
               ? Fail(ErrorKind::kNotFound, format("signal process {}: it ended", process.pid))
               : FailErrno(format("signal process {}", process.pid), errno);
  }
  return {};
}

bool AwaitEnd(const ProcessId& process, SteadyTime deadline) {
  const auto is_there = [&] { return Identify(process.pid) == process; };
  const Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (handle.valid()) {
    return !is_there() || WaitReadable(std::array{handle.get()}, deadline).front();
  }
  // Kernels before 5.3 report the end to the parent only.
  while (is_there() && steady_clock::now() < deadline) {
    WaitReadable({}, std::min(deadline, steady_clock::now() + kLookAgain));
  }
  return !is_there();
}

Result<std::vector<std::string>> CommandLine(pid_t pid) {
  TRY_ASSIGN(std::string text, ReadFile(format("/proc/{}/cmdline", pid)));
  if (text.ends_with('\0')) {
    text.pop_back();
  }
  return Split(text, '\0');
}

Result<std::string> ProgramPath(pid_t pid) {
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink(format("/proc/{}/exe", pid).c_str(), path.data(), path.size());
  if (length <= 0) {
    return FailErrno(format("find the program of process {}", pid), errno);
  }
  std::string found(path.data(), static_cast<size_t>(length));
  constexpr std::string_view kReplaced = " (deleted)";  // its package was updated meanwhile
  if (found.ends_with(kReplaced)) {
    found.resize(found.size() - kReplaced.size());
  }
  return found;
}

}  // namespace gantry::host
