// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

// When a plugin listens and when it registers, for one resource.
namespace gantry::kubelet {

// Whose socket is at the plugin's path.
enum class OwnSocket { kAbsent, kOurs, kForeign };

// The state of the device plugin folder. An identity is 0 without such a socket; a restarted
// kubelet's kubelet.sock has another identity.
struct Sight {
  uint64_t kubelet = 0;
  OwnSocket own = OwnSocket::kAbsent;
};

// What happened so far.
struct RegistrationState {
  bool in_flight = false;   // a Register call is pending
  SteadyTime answer_by{};   // when it is abandoned
  uint64_t asked = 0;       // the kubelet that the last call went to
  uint64_t registered = 0;  // the kubelet that accepted the plugin; 0: none
  int failures = 0;         // in a row, of Register calls
  SteadyTime not_before{};  // no Register call before that
  bool listening = false;   // the socket was made at least once
  int listen_failures = 0;  // in a row, of making the socket
  SteadyTime no_listen_before{};
  bool left = false;  // the predecessor left while a call was pending
  SteadyTime registered_at{};
  int short_streams = 0;  // in a row, that this kubelet ended soon after the registration
};

struct RegistrationStep {
  enum class What { kNothing, kListen, kRegister, kGiveUp } what = What::kNothing;
  std::optional<SteadyTime> look_again;  // nothing to do before that without an event
  bool operator==(const RegistrationStep&) const = default;
};

// The next step. kListen: make the socket (a starting kubelet wipes the folder). kRegister: call
// Register. Another process' socket at the path means that another plugin has taken over (an
// upgrade's new pod): do nothing until it is removed. kGiveUp: abandon the pending Register call,
// as failed.
RegistrationStep Decide(const RegistrationState& state, const Sight& sight, SteadyTime now);

// Updates of the state.
void OnListening(RegistrationState& state);
void OnListenFailed(RegistrationState& state, SteadyTime now);
void OnRegistering(RegistrationState& state, const Sight& sight, SteadyTime now);
void OnAnswer(RegistrationState& state, bool accepted, SteadyTime now);
// The kubelet ended the last ListAndWatch stream of the registered plugin: it has dropped the
// plugin, or it has stopped. If it does so repeatedly, the pauses grow: its reason to reject the
// list will not change by itself.
void OnDropped(RegistrationState& state, SteadyTime now);
// The plugin's predecessor has ended, as PluginHost's destructor describes.
void OnPredecessorLeft(RegistrationState& state, SteadyTime now);

}  // namespace gantry::kubelet
