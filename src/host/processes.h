// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

// Runs programs, and finds and signals processes of the host. The latter needs the host's PID
// namespace.
namespace gantry::host {

struct Command {
  std::vector<std::string> words;  // the first is the program's path, inside `root`
  std::string root;                // chroot first; empty: none
  std::chrono::milliseconds limit{10000};
  int stop_fd = -1;                           // readable: the program is ended; below 0: none
  std::vector<std::string> environment = {};  // NAME=VALUE, besides our own or instead of it
  bool own_environment = true;                // false: it gets no variable of ours
  std::string folder = {};                    // where it runs, inside `root`; empty: where we do
};

struct Finished {
  int exit_status = 0;  // 128 + signal if it was killed
  std::string output;
  std::string errors;
};

// Runs the program to its end and reads both its outputs. kTimeout after the limit, kUnavailable
// after a stop; the program and its group are killed then. A killed program that hangs in a driver
// is waited for one second at most. An exit status other than 0 is not an error here.
Result<Finished> RunProgram(const Command& command);

// A process, identified so that a later one with the same number is not mistaken for it.
struct ProcessId {
  pid_t pid = 0;
  unsigned long long start_time = 0;  // clock ticks since boot, field 22 of /proc/<pid>/stat
  auto operator<=>(const ProcessId&) const = default;
};

// kNotFound if there is no such process.
Result<ProcessId> Identify(pid_t pid);

// Who listens on a unix socket (SO_PEERCRED of a connection). kNotFound: no such socket;
// kUnavailable: no process listens.
Result<ProcessId> SocketPeer(const std::string& path);

// kNotFound if it ended meanwhile.
Status SendSignal(const ProcessId& process, int signal_number);

// Blocks until the process has ended or the deadline passes; returns whether it has ended. A zombie
// has ended.
bool AwaitEnd(const ProcessId& process, SteadyTime deadline);

// The path of a program, found in the folders of PATH; a name with a slash is its own path.
// kNotFound.
Result<std::string> FindInPath(const std::string& program);

// The arguments of its command line; the path of its program. kNotFound if it ended.
Result<std::vector<std::string>> CommandLine(pid_t pid);
Result<std::string> ProgramPath(pid_t pid);

}  // namespace gantry::host
