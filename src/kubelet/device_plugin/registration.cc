// SPDX-License-Identifier: Apache-2.0
// When must a plugin listen again, and when must it register? Decided from the sockets in the
// device plugin folder and from what happened before.
//
// The kubelet's device manager forgets a plugin in three ways, without notice. At its start it
// removes every socket in the folder and recreates kubelet.sock. When a ListAndWatch stream ends,
// it drops the plugin that registered last under that resource: after a hand-over the new one,
// although the stream was the old one's. And a Register call fails if it can't dial the plugin's
// socket. In each case the plugin must register again.
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
// The kubelet removes a dropped client by name after it has closed the stream: a registration in
// between would be removed with it.
constexpr milliseconds kAfterDrop{20};
constexpr milliseconds kLastAfterDrop{20'000};
// A stream that lasted this long ended for a new reason.
constexpr milliseconds kShortStream{10'000};
// The same after a predecessor's stream; no hurry, because the kubelet still has this plugin.
constexpr milliseconds kAfterHandOver{1000};
// The kubelet waits up to 10 s for a plugin that it dials, and then answers.
constexpr milliseconds kAnswerLimit{12'000};

// A user must repair a folder that can't be written.
constexpr milliseconds kFirstListenRetry{1000};
constexpr milliseconds kLastListenRetry{30'000};

milliseconds RetryDelay(int failures, milliseconds first, milliseconds last) {
  const int doublings = std::min(failures - 1, 10);
  return std::min(first * (1 << doublings), last);
}

}  // namespace

RegistrationStep Decide(const RegistrationState& state, const Sight& sight, SteadyTime now) {
  using What = RegistrationStep::What;
  // At the start the path is taken over from any process; later a foreign socket is a successor's.
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
  // A kubelet without a Register call so far gets one at once.
  if (sight.kubelet == state.asked && now < state.not_before) {
    return {.what = What::kNothing, .look_again = state.not_before};
  }
  return {.what = What::kRegister, .look_again = {}};
}

void OnListening(RegistrationState& state) {
  state.listening = true;
  state.listen_failures = 0;
  state.no_listen_before = {};
  // A kubelet that knew the previous socket does not know this one.
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
  // The kubelet may have accepted this plugin before the predecessor's last call and answer after
  // it.
  state.left = state.in_flight;
  state.registered = 0;
  state.not_before = std::max(state.not_before, now + kAfterHandOver);
}

}  // namespace gantry::kubelet
