// SPDX-License-Identifier: Apache-2.0
// How is a child started that may hang, and how is it abandoned? A call into a driver can block for
// ever in the kernel, where not even SIGKILL ends it; so the wait for the child's end is short.
#include "operands/validator/probe.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "host/watch.h"

namespace gantry::validator {
namespace {

constexpr size_t kMaxOutput = 16384;
constexpr std::chrono::milliseconds kDeathLimit(100);

std::string ReadAll(int fd) {
  std::string text;
  std::array<char, 4096> buffer;
  ssize_t size = 0;
  while (text.size() < kMaxOutput && (size = read(fd, buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<size_t>(size));
  }
  return text;
}

}  // namespace

Result<Probe> Probe::Start(const std::vector<std::string>& argv, std::chrono::milliseconds limit) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return FailErrno("start " + argv[0], errno);
  }
  Fd output(ends[0]);
  fcntl(output.get(), F_SETFL, O_NONBLOCK);
  const Fd input(ends[1]);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, input.get(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);

  std::vector<std::string> words = argv;
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, argv[0].c_str(), &actions, &attributes, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return FailErrno("start " + argv[0], error);
  }
  Fd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid()) {
    const int open_error = errno;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return FailErrno("watch " + argv[0], open_error);
  }
  return Probe(pid, std::move(process), std::move(output),
               std::chrono::steady_clock::now() + limit);
}

Probe::Probe(Probe&& other) noexcept
    : pid_(other.pid_),
      process_(std::move(other.process_)),
      output_(std::move(other.output_)),
      deadline_(other.deadline_) {
  other.pid_ = -1;
}

Probe& Probe::operator=(Probe&& other) noexcept {
  if (this != &other) {
    Kill();
    pid_ = other.pid_;
    process_ = std::move(other.process_);
    output_ = std::move(other.output_);
    deadline_ = other.deadline_;
    other.pid_ = -1;
  }
  return *this;
}

Probe::~Probe() { Kill(); }

void Probe::Kill() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    const std::array<int, 1> process = {process_.get()};
    host::WaitReadable(process, std::chrono::steady_clock::now() + kDeathLimit);
    waitpid(pid_, nullptr, WNOHANG);
    pid_ = -1;
  }
}

Answer Probe::Take() {
  Answer answer;
  siginfo_t info{};
  const bool ended =
      waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) == 0 && info.si_pid == pid_;
  answer.text = ReadAll(output_.get());
  answer.values = host::ParseStatusFile(answer.text);
  if (!ended) {
    answer.end = Answer::End::kTimeout;
    Kill();
    return answer;
  }
  pid_ = -1;
  answer.end = info.si_code == CLD_EXITED ? Answer::End::kSaid : Answer::End::kDied;
  answer.exit_code = info.si_status;
  if (answer.end == Answer::End::kDied) {
    answer.text += std::string("ended by ") + strsignal(info.si_status);
  }
  return answer;
}

}  // namespace gantry::validator
