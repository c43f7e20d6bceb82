// SPDX-License-Identifier: Apache-2.0
// Whether programs end by their deadline, and a socket leads to the process behind it.
#include "host/processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/paths.h"
#include "base/testing/temp_folder.h"
#include "host/watch.h"

namespace gantry::host {
namespace {

TEST(Processes, OutputAndExitStatus) {
  const auto finished = RunProgram({{"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, "", {}});
  EXPECT_FALSE(finished.has_value());  // no time at all
  const auto done = RunProgram(
      {{"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, "", std::chrono::seconds(20)});
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->exit_status, 3);
  EXPECT_EQ(done->output, "out\n");
  EXPECT_EQ(done->errors, "err\n");
}

TEST(Processes, AProgramMayGetNoVariableOfOursAndAFolder) {
  const auto done = RunProgram({.words = {"/bin/sh", "-c", "echo $HOME$A; pwd"},
                                .root = "",
                                .limit = std::chrono::seconds(20),
                                .environment = {"A=given"},
                                .own_environment = false,
                                .folder = "/proc"});
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->output, "given\n/proc\n");
}

TEST(Processes, TheDeadlineEndsAlsoItsChildren) {
  const std::string mark = testing::TempDir() + "/child-lived." + std::to_string(::getpid());
  const auto finished = RunProgram({{"/bin/sh", "-c", "(sleep 0.5; touch " + mark + ") & wait"},
                                    "",
                                    std::chrono::milliseconds(100)});
  ASSERT_FALSE(finished.has_value());
  EXPECT_EQ(finished.error().kind, ErrorKind::kTimeout);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST(Processes, AStopEndsIt) {
  StopEvent stop;
  std::thread soon([&stop] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.Stop();
  });
  const auto finished =
      RunProgram({{"/bin/sh", "-c", "sleep 20"}, "", std::chrono::seconds(20), stop.fd()});
  soon.join();
  ASSERT_FALSE(finished.has_value());
  EXPECT_EQ(finished.error().kind, ErrorKind::kUnavailable);
}

TEST(Processes, OneThatClosesItsOutputsHasNoMoreTime) {
  const SteadyTime began = RealClock().Now();
  const auto finished = RunProgram(
      {{"/bin/sh", "-c", "exec >&- 2>&-; sleep 60"}, "", std::chrono::milliseconds(100)});
  ASSERT_FALSE(finished.has_value());
  EXPECT_EQ(finished.error().kind, ErrorKind::kTimeout);
  EXPECT_LT(RealClock().Now() - began, std::chrono::seconds(30));
}

// Holds the end of the program whose number comes to stand in a file back, as a call into a driver
// does. One that can't be held is killed.
[[noreturn]] void HoldBack(const std::string& file) {
  pid_t program = 0;
  while (program == 0) {
    ::usleep(1000);
    program = std::atoi(ReadFile(file).value_or("").c_str());
  }
  if (::ptrace(PTRACE_SEIZE, program, 0, PTRACE_O_TRACEEXIT) != 0) {
    ::kill(program, SIGKILL);
  }
  while (true) {
    ::pause();
  }
}

TEST(Processes, OneThatCannotBeKilledIsLeft) {
  const TempFolder temporary;
  const std::string& folder = temporary.path();
  const std::string file = folder + "/pid";
  const pid_t tracer = ::fork();
  if (tracer == 0) {
    HoldBack(file);
  }
  const SteadyTime began = RealClock().Now();
  const auto finished = RunProgram(
      {{"/bin/sh", "-c", "echo $$ > " + file + "; exec sleep 60"}, "", std::chrono::seconds(2)});
  ::kill(tracer, SIGKILL);
  ::waitpid(tracer, nullptr, 0);
  ASSERT_FALSE(finished.has_value()) << "it could not be traced";
  EXPECT_EQ(finished.error().kind, ErrorKind::kTimeout);
  EXPECT_LT(RealClock().Now() - began, std::chrono::seconds(10));
}

TEST(Processes, AVariableIsAddedOrReplaced) {
  setenv("GANTRY_REPLACED", "old", 1);
  Command command{.words = {"/bin/sh", "-c", "echo $GANTRY_REPLACED $GANTRY_ADDED ${PATH:+path}"},
                  .root = ""};
  command.environment = {"GANTRY_REPLACED=new", "GANTRY_ADDED=a=b"};
  EXPECT_EQ(RunProgram(command).value().output, "new a=b path\n");
  unsetenv("GANTRY_REPLACED");
}

TEST(Processes, FoundInPath) {
  EXPECT_EQ(FindInPath("/x/y").value(), "/x/y");
  EXPECT_EQ(FindInPath("no-such-program").error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(FindInPath("sh").value().ends_with("/sh"));
}

TEST(Processes, MissingProgram) {
  EXPECT_EQ(RunProgram({{"/no/such"}, "", std::chrono::seconds(20)}).error().kind,
            ErrorKind::kNotFound);
}

TEST(Processes, SocketPeerIsItsListener) {
  const TempFolder temporary;
  const std::string& folder = temporary.path();
  const std::string path = folder + "/s";
  EXPECT_EQ(SocketPeer(path).error().kind, ErrorKind::kNotFound);
  {
    const Fd listener(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_EQ(::listen(listener.get(), 4), 0);
    const auto peer = SocketPeer(path);
    ASSERT_TRUE(peer.has_value()) << peer.error().message;
    EXPECT_EQ(*peer, Identify(::getpid()).value());
  }
  EXPECT_EQ(SocketPeer(path).error().kind, ErrorKind::kUnavailable);
}

TEST(Processes, ASignalIsNotSentToALaterProcessOfTheSameNumber) {
  ProcessId other = Identify(::getpid()).value();
  other.start_time += 1;
  EXPECT_EQ(SendSignal(other, SIGKILL).error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(SendSignal(Identify(::getpid()).value(), 0).has_value());
}

TEST(Processes, TheEndOfAProcessIsWaitedFor) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const ProcessId process = Identify(child).value();
  EXPECT_FALSE(AwaitEnd(process, std::chrono::steady_clock::now()));
  ASSERT_TRUE(SendSignal(process, SIGKILL).has_value());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  EXPECT_TRUE(AwaitEnd(process, deadline)) << "its parent has not asked for it";
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(AwaitEnd(process, deadline));
  EXPECT_LT(std::chrono::steady_clock::now(), deadline);
}

TEST(Processes, CommandLineAndProgram) {
  EXPECT_FALSE(CommandLine(::getpid()).value().empty());
  EXPECT_TRUE(ProgramPath(::getpid()).value().ends_with("host_test"));
}

}  // namespace
}  // namespace gantry::host
