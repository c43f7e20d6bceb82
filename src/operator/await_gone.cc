// SPDX-License-Identifier: Apache-2.0

// When is the deletion of a CRD complete? The API server deletes a CRD's objects first. If its
// status update for that conflicts with another change, it drops the key and relies on that change
// to requeue it, but a change of the condition Terminating does not. The CRD then stays until the
// next resync, for up to five minutes (Kubernetes 1.36, crd_finalizer). Any other change requeues
// it at once.

#include "operator/await_gone.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "kube/await_object.h"
#include "operator/definitions.h"

namespace gantry::gpu_operator {
namespace {

using std::chrono::milliseconds;

constexpr const kube::Kind& kDefinition = kube::kinds::kCustomResourceDefinition;
constexpr milliseconds kDropsIt(5000);  // a normal deletion is usually complete by then

void AskAgain(kube::Client& client, const std::string& name) {
  const auto asked = client.MergePatch(
      kDefinition, {"", name},
      {{"metadata", {{"annotations", {{kAskedToGo, Rfc3339(RealClock().Wall())}}}}}});
  if (!asked.has_value() && asked.error().kind != ErrorKind::kNotFound) {
    log::Debug("{}: {}", name, asked.error().message);
  }
}

}  // namespace

Status AwaitGone(kube::Client& client, std::set<std::string> definitions, milliseconds at_most) {
  const SteadyTime deadline = RealClock().Now() + at_most;
  while (!definitions.empty()) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - RealClock().Now());
    std::string why = "it was not seen";
    const Status gone = kube::AwaitObject(
        client, kDefinition, *definitions.begin(), std::clamp<milliseconds>(left, {}, kDropsIt),
        [&why](const Json* definition) {
          if (definition == nullptr || !IsBeingDeleted(*definition)) {
            return true;
          }
          why = WhyStillThere(*definition);
          return false;
        });
    if (gone.has_value()) {
      definitions.erase(definitions.begin());
    } else if (gone.error().kind == ErrorKind::kDenied) {
      return gone;
    } else if (RealClock().Now() >= deadline) {
      return Fail(ErrorKind::kTimeout,
                  format("still there: {} ({})",
                         Join({definitions.begin(), definitions.end()}, ", "), why));
    } else {
      for (const std::string& name : definitions) {
        AskAgain(client, name);
      }
    }
  }
  return {};
}

}  // namespace gantry::gpu_operator
