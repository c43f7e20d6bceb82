// SPDX-License-Identifier: Apache-2.0
// When must a plugin listen anew, and when must it register? From what lies in the device plugin
// folder and what happened before.
//
// The kubelet's device manager forgets a plugin in three ways, none of which it announces: at its
// start it removes every socket in the folder and makes kubelet.sock anew; when a ListAndWatch
// stream ends, it drops the plugin registered last under that resource, which after a hand-over
// is the new one although the stream was the old one's; and a Register call fails when it can't
// dial the plugin's socket. In each case registering again is the way back.
#include "kubelet/device_plugin/registration.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace gantry::kubelet {
namespace {

using std::chrono::milliseconds;

// The kubelet binds kubelet.sock before it listens on it, so the first call can come too early.
constexpr milliseconds kFirstRetry{5};
constexpr milliseconds kLastRetry{5000};
// The kubelet removes a dropped client under its name after it has closed the stream: a call in
// between would be removed with it.
constexpr milliseconds kAfterDrop{20};
constexpr milliseconds kLastAfterDrop{20'000};
// A stream that lasts so long was ended for a reason of that moment.
constexpr milliseconds kShortStream{10'000};
// The same after a predecessor's stream; there is no hurry, because the kubelet still has this one.
constexpr milliseconds kAfterHandOver{1000};
// The kubelet waits up to 10 s for a plugin that it dials, and answers then.
constexpr milliseconds kAnswerLimit{12'000};

// A folder that can't be written needs somebody's hand.
constexpr milliseconds kFirstListenRetry{1000};
constexpr milliseconds kLastListenRetry{30'000};

milliseconds RetryDelay(int failures, milliseconds first, milliseconds last) {
  const int doublings = std::min(failures - 1, 10);
  return std::min(first * (1 << doublings), last);
}

}  // namespace

RegistrationStep Decide(const RegistrationState& state, const Sight& sight, SteadyTime now) {
  using What = RegistrationStep::What;
  // At the start the path is taken over whoever is there; later a foreign socket is a successor's.
  if (sight.own == OwnSocket::kAbsent || !state.listening) {
    return now < state.no_listen_before
               ? RegistrationStep{.what = What::kNothing, .look_again = state.no_listen_before}
               : RegistrationStep{.what = What::kListen, .look_again = {}};
  }
  if (state.in_flight) {
    return now < state.answer_by
               ? RegistrationStep{.what = What::kNothing, .look_again = state.answer_by}
               : RegistrationStep{.what = What::kGiveUp, .look_again = {}};
  }
  if (sight.own == OwnSocket::kForeign || sight.kubelet == 0 || sight.kubelet == state.registered) {
    return {};
  }
  // A kubelet that was not asked yet is asked at once.
  if (sight.kubelet == state.asked && now < state.not_before) {
    return {.what = What::kNothing, .look_again = state.not_before};
  }
  return {.what = What::kRegister, .look_again = {}};
}

void OnListening(RegistrationState& state) {
  state.listening = true;
  state.listen_failures = 0;
  state.no_listen_before = {};
  // Whoever knew us by the socket that was there before does no longer.
  state.registered = 0;
}

void OnListenFailed(RegistrationState& state, SteadyTime now) {
  state.listen_failures++;
  state.no_listen_before =
      now + RetryDelay(state.listen_failures, kFirstListenRetry, kLastListenRetry);
}

void OnRegistering(RegistrationState& state, const Sight& sight, SteadyTime now) {
  state.in_flight = true;
  state.short_streams = sight.kubelet == state.asked ? state.short_streams : 0;
  state.answer_by = now + kAnswerLimit;
  state.asked = sight.kubelet;
}

void OnAnswer(RegistrationState& state, bool accepted, SteadyTime now) {
  state.in_flight = false;
  if (accepted) {
    state.registered = state.asked;
    state.registered_at = now;
    state.failures = 0;
    state.not_before = {};
    if (std::exchange(state.left, false)) {
      OnPredecessorLeft(state, now);
    }
    return;
  }
  state.failures++;
  state.not_before = now + RetryDelay(state.failures, kFirstRetry, kLastRetry);
}

void OnDropped(RegistrationState& state, SteadyTime now) {
  state.registered = 0;
  const bool was_short = now - state.registered_at < kShortStream;
  state.short_streams = was_short ? state.short_streams + 1 : 1;
  state.not_before =
      std::max(state.not_before, now + RetryDelay(state.short_streams, kAfterDrop, kLastAfterDrop));
}

void OnPredecessorLeft(RegistrationState& state, SteadyTime now) {
  // The kubelet may have taken us before the predecessor's last call and answer after it.
  state.left = state.in_flight;
  state.registered = 0;
  state.not_before = std::max(state.not_before, now + kAfterHandOver);
}

}  // namespace gantry::kubelet
