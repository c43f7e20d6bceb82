// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

// When a plugin listens and when it registers, for one resource.
namespace gantry::kubelet {

// Whose socket lies at the plugin's path.
enum class OwnSocket { kAbsent, kOurs, kForeign };

// What is seen in the device plugin folder. An identity is 0 when there is no such socket; another
// kubelet's kubelet.sock has another identity.
struct Sight {
  uint64_t kubelet = 0;
  OwnSocket own = OwnSocket::kAbsent;
};

// What happened so far.
struct RegistrationState {
  bool in_flight = false;   // a Register call waits for its answer
  SteadyTime answer_by{};   // when it is given up
  uint64_t asked = 0;       // the kubelet that the last call went to
  uint64_t registered = 0;  // the kubelet that has us; 0: none
  int failures = 0;         // in a row, of Register calls
  SteadyTime not_before{};  // no Register call before that
  bool listening = false;   // our socket was put there at least once
  int listen_failures = 0;  // in a row, of putting it there
  SteadyTime no_listen_before{};
  bool left = false;  // the predecessor left while a call was under way
  SteadyTime registered_at{};
  int short_streams = 0;  // in a row, that this kubelet ended soon after it had registered us
};

struct RegistrationStep {
  enum class What { kNothing, kListen, kRegister, kGiveUp } what = What::kNothing;
  std::optional<SteadyTime> look_again;  // nothing to do before that unless something happens
  bool operator==(const RegistrationStep&) const = default;
};

// The next step. kListen: put our socket at the path (a kubelet that starts wipes the folder).
// kRegister: call Register. A socket of somebody else at our path means that another plugin has
// taken over (an upgrade's new pod): nothing is done until it goes. kGiveUp: end the Register call
// that is under way; its answer is a failure.
RegistrationStep Decide(const RegistrationState& state, const Sight& sight, SteadyTime now);

// How the state goes on.
void OnListening(RegistrationState& state);
void OnListenFailed(RegistrationState& state, SteadyTime now);
void OnRegistering(RegistrationState& state, const Sight& sight, SteadyTime now);
void OnAnswer(RegistrationState& state, bool accepted, SteadyTime now);
// The kubelet ended the last ListAndWatch stream while it was registered with us: it has dropped
// the plugin, or it has stopped. A kubelet that does so again and again is asked more and more
// seldom: what it does not like about the list will not change by itself.
void OnDropped(RegistrationState& state, SteadyTime now);
// The plugin that was here before has ended as PluginHost's destructor says.
void OnPredecessorLeft(RegistrationState& state, SteadyTime now);

}  // namespace gantry::kubelet
