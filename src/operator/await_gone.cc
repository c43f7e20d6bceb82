// SPDX-License-Identifier: Apache-2.0

// The API server looks for a definition's objects before it lets the definition go. If its own word
// of that meets another change of the definition it drops the matter and counts on that change to
// bring it back, which a change of its condition Terminating does not: the definition then stays
// until the next resync, for up to five minutes (Kubernetes 1.36, crd_finalizer). Any other change
// brings it back at once.

#include "operator/await_gone.h"

#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "operator/definitions.h"

namespace gantry::gpu_operator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const kube::Kind& kDefinition = kube::kinds::kCustomResourceDefinition;
constexpr milliseconds kPause(300);
constexpr seconds kDropsIt(5);  // what goes by itself has gone by then, as a rule

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
  const SteadyTime begun = RealClock().Now();
  SteadyTime asked = begun;
  while (true) {
    std::vector<std::string> left;
    for (auto name = definitions.begin(); name != definitions.end();) {
      const auto stored = client.Get(kDefinition, {"", *name});
      if (!stored.has_value() && stored.error().kind == ErrorKind::kDenied) {
        return std::unexpected(stored.error());
      }
      if (stored.has_value() ? !IsBeingDeleted(*stored)
                             : stored.error().kind == ErrorKind::kNotFound) {
        name = definitions.erase(name);
        continue;
      }
      left.push_back(format("{} ({})", *name,
                            stored.has_value() ? WhyStillThere(*stored) : stored.error().message));
      ++name;
    }
    const SteadyTime now = RealClock().Now();
    if (left.empty()) {
      return {};
    }
    if (now - begun >= at_most) {
      return Fail(ErrorKind::kTimeout, format("still there: {}", Join(left, ", ")));
    }
    if (now - asked >= kDropsIt) {
      asked = now;
      for (const std::string& name : definitions) {
        AskAgain(client, name);
      }
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace gantry::gpu_operator
