// SPDX-License-Identifier: Apache-2.0
// Steps of one resource's registration, on a clock of the test's own.
#include "kubelet/device_plugin/registration.h"

#include <gtest/gtest.h>

#include <chrono>

namespace gantry::kubelet {
namespace {

using std::chrono::milliseconds;
using What = RegistrationStep::What;

constexpr uint64_t kKubelet = 7;
constexpr uint64_t kNextKubelet = 8;
const SteadyTime kStart{std::chrono::hours(1)};

RegistrationState Registered() {
  RegistrationState state;
  OnListening(state);
  OnRegistering(state, {.kubelet = kKubelet, .own = OwnSocket::kOurs}, kStart);
  OnAnswer(state, true, kStart);
  return state;
}

TEST(Registration, ListensFirstAlsoOverAForeignSocket) {
  const RegistrationState state;
  for (const auto own : {OwnSocket::kAbsent, OwnSocket::kForeign}) {
    EXPECT_EQ(Decide(state, {.kubelet = kKubelet, .own = own}, kStart).what, What::kListen);
  }
}

TEST(Registration, RegistersAsSoonAsThereIsAKubelet) {
  RegistrationState state;
  OnListening(state);
  EXPECT_EQ(Decide(state, {.kubelet = 0, .own = OwnSocket::kOurs}, kStart), RegistrationStep{});
  const Sight sight{.kubelet = kKubelet, .own = OwnSocket::kOurs};
  EXPECT_EQ(Decide(state, sight, kStart).what, What::kRegister);
  OnRegistering(state, sight, kStart);
  EXPECT_EQ(Decide(state, sight, kStart).what, What::kNothing) << "one call at a time";
}

TEST(Registration, RestsWhileRegistered) {
  EXPECT_EQ(Decide(Registered(), {.kubelet = kKubelet, .own = OwnSocket::kOurs}, kStart),
            RegistrationStep{});
}

TEST(Registration, AnotherKubeletIsAskedAtOnce) {
  EXPECT_EQ(Decide(Registered(), {.kubelet = kNextKubelet, .own = OwnSocket::kOurs}, kStart).what,
            What::kRegister);
}

TEST(Registration, AWipedFolderMeansListenAndRegister) {
  auto state = Registered();
  EXPECT_EQ(Decide(state, {.kubelet = kKubelet, .own = OwnSocket::kAbsent}, kStart).what,
            What::kListen);
  OnListening(state);
  EXPECT_EQ(Decide(state, {.kubelet = kKubelet, .own = OwnSocket::kOurs}, kStart).what,
            What::kRegister);
}

TEST(Registration, ASuccessorsSocketEndsEverything) {
  const auto state = Registered();
  for (const auto kubelet : {kKubelet, kNextKubelet}) {
    EXPECT_EQ(Decide(state, {.kubelet = kubelet, .own = OwnSocket::kForeign}, kStart),
              RegistrationStep{});
  }
  EXPECT_EQ(Decide(state, {.kubelet = kKubelet, .own = OwnSocket::kAbsent}, kStart).what,
            What::kListen)
      << "until the successor goes";
}

TEST(Registration, RefusedCallsAreRepeatedMoreAndMoreSeldom) {
  RegistrationState state;
  OnListening(state);
  const Sight sight{.kubelet = kKubelet, .own = OwnSocket::kOurs};
  auto now = kStart;
  milliseconds last{0};
  for (int i = 0; i < 15; ++i) {
    ASSERT_EQ(Decide(state, sight, now).what, What::kRegister);
    OnRegistering(state, sight, now);
    OnAnswer(state, false, now);
    const auto step = Decide(state, sight, now);
    ASSERT_EQ(step.what, What::kNothing);
    ASSERT_TRUE(step.look_again);
    const auto wait = std::chrono::duration_cast<milliseconds>(*step.look_again - now);
    EXPECT_GE(wait, last);
    EXPECT_LE(wait, milliseconds(5000));
    last = wait;
    now = *step.look_again;
  }
  EXPECT_EQ(last, milliseconds(5000));
  EXPECT_EQ(Decide(state, {.kubelet = kNextKubelet, .own = OwnSocket::kOurs}, now).what,
            What::kRegister);
}

TEST(Registration, ASocketThatCannotBeMadeIsTriedMoreAndMoreSeldom) {
  RegistrationState state;
  const Sight sight{.kubelet = kKubelet, .own = OwnSocket::kAbsent};
  auto now = kStart;
  milliseconds last{0};
  for (int i = 0; i < 15; ++i) {
    ASSERT_EQ(Decide(state, sight, now).what, What::kListen);
    OnListenFailed(state, now);
    const auto step = Decide(state, sight, now);
    ASSERT_EQ(step.what, What::kNothing);
    ASSERT_TRUE(step.look_again);
    const auto wait = std::chrono::duration_cast<milliseconds>(*step.look_again - now);
    EXPECT_GE(wait, last);
    last = wait;
    now = *step.look_again;
  }
  EXPECT_EQ(last, milliseconds(30'000));
  OnListening(state);
  EXPECT_EQ(Decide(state, sight, now).what, What::kListen) << "it was there, and is gone";
}

TEST(Registration, ACallWithoutAnAnswerIsGivenUp) {
  RegistrationState state;
  OnListening(state);
  const Sight sight{.kubelet = kKubelet, .own = OwnSocket::kOurs};
  OnRegistering(state, sight, kStart);
  const auto step = Decide(state, sight, kStart);
  ASSERT_TRUE(step.look_again);
  EXPECT_GT(*step.look_again, kStart + std::chrono::seconds(10)) << "the kubelet dials for 10 s";
  EXPECT_EQ(Decide(state, sight, *step.look_again).what, What::kGiveUp);
}

TEST(Registration, ADroppedPluginRegistersAgainAfterTheKubeletForgotIt) {
  auto state = Registered();
  OnDropped(state, kStart);
  const Sight sight{.kubelet = kKubelet, .own = OwnSocket::kOurs};
  const auto step = Decide(state, sight, kStart);
  EXPECT_EQ(step.what, What::kNothing);
  EXPECT_EQ(step.look_again, kStart + milliseconds(20));
  EXPECT_EQ(Decide(state, sight, kStart + milliseconds(20)).what, What::kRegister);
}

// kdp#1433: a kubelet that does not take the list ends each stream at its first answer.
TEST(Registration, Kdp1433_AStreamThatEndsAtOnceIsFollowedByGrowingPauses) {
  auto state = Registered();
  const Sight sight{.kubelet = kKubelet, .own = OwnSocket::kOurs};
  auto now = kStart;
  milliseconds last{0};
  int calls = 0;
  for (const auto minute = now + std::chrono::minutes(1); now < minute; ++calls) {
    OnDropped(state, now);
    const auto step = Decide(state, sight, now);
    ASSERT_EQ(step.what, What::kNothing);
    ASSERT_TRUE(step.look_again);
    const auto wait = std::chrono::duration_cast<milliseconds>(*step.look_again - now);
    EXPECT_GE(wait, last);
    EXPECT_LE(wait, milliseconds(20'000));
    last = wait;
    now = *step.look_again;
    OnRegistering(state, sight, now);
    OnAnswer(state, true, now);
    now += milliseconds(100);
  }
  EXPECT_LE(calls, 13);
  EXPECT_EQ(last, milliseconds(20'000));
  OnDropped(state, now + std::chrono::minutes(1));
  EXPECT_EQ(Decide(state, sight, now + std::chrono::minutes(1)).look_again,
            now + std::chrono::minutes(1) + milliseconds(20))
      << "that stream was a good one";
  OnDropped(state, now + std::chrono::minutes(2));
  EXPECT_EQ(Decide(state, {.kubelet = kNextKubelet, .own = OwnSocket::kOurs},
                   now + std::chrono::minutes(2))
                .what,
            What::kRegister)
      << "another kubelet is asked at once";
}

TEST(Registration, RegistersAgainSomeTimeAfterItsPredecessorLeft) {
  auto state = Registered();
  OnPredecessorLeft(state, kStart);
  const Sight sight{.kubelet = kKubelet, .own = OwnSocket::kOurs};
  const auto step = Decide(state, sight, kStart);
  ASSERT_TRUE(step.look_again);
  EXPECT_EQ(Decide(state, sight, *step.look_again).what, What::kRegister);
}

TEST(Registration, RegistersAgainAlsoWhenItsPredecessorLeftBeforeTheAnswer) {
  RegistrationState state;
  const Sight sight{.kubelet = kKubelet, .own = OwnSocket::kOurs};
  OnListening(state);
  OnRegistering(state, sight, kStart);
  OnPredecessorLeft(state, kStart);
  EXPECT_EQ(Decide(state, sight, kStart).what, What::kNothing);
  OnAnswer(state, true, kStart);
  const auto step = Decide(state, sight, kStart);
  ASSERT_TRUE(step.look_again);
  EXPECT_EQ(Decide(state, sight, *step.look_again).what, What::kRegister);
}

}  // namespace
}  // namespace gantry::kubelet
