// SPDX-License-Identifier: Apache-2.0
// Whether a child is waited for with a limit, and reaped in the end.
#include "host/child.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>

#include "host/watch.h"

namespace gantry::host {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

pid_t Sleeper() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::pause();
    ::_exit(0);
  }
  return pid;
}

SteadyTime Soon(std::chrono::nanoseconds after) { return RealClock().Now() + after; }

TEST(Child, SaysHowItEnded) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::_exit(3);
  }
  Child child(pid);
  const std::optional<int> status = child.AwaitEnd(Soon(seconds(30)));
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(WEXITSTATUS(*status), 3);
  EXPECT_EQ(child.AwaitEnd(Soon(seconds(0))), status) << "it is asked for once";
}

TEST(Child, TheDeadlineAndTheStopEndTheWaiting) {
  Child child(Sleeper());
  EXPECT_FALSE(child.AwaitEnd(Soon(milliseconds(20))).has_value());
  StopEvent stop;
  stop.Stop();
  const SteadyTime deadline = Soon(seconds(30));
  EXPECT_FALSE(child.AwaitEnd(deadline, stop.fd()).has_value());
  EXPECT_LT(RealClock().Now(), deadline);
  ::kill(child.pid(), SIGKILL);
  EXPECT_TRUE(child.AwaitEnd(deadline).has_value());
}

TEST(Child, OneThatIsGivenUpIsReapedWithTheNext) {
  const pid_t pid = Sleeper();
  {
    const Child given_up(pid);
  }
  ::kill(pid, SIGKILL);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT), 0)
      << "it is there yet";
  Child next(Sleeper());
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  ::kill(next.pid(), SIGKILL);
  EXPECT_TRUE(next.AwaitEnd(Soon(seconds(30))).has_value());
}

}  // namespace
}  // namespace gantry::host
