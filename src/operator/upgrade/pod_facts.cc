// SPDX-License-Identifier: Apache-2.0

// What of a Pod decides whether a node's driver can be exchanged? A Pod is 5 to 20 KB of JSON, of
// which a few words are kept. A GPU may also be held by a ResourceClaim.

#include "operator/upgrade/pod_facts.h"

#include <algorithm>

#include "base/text.h"
#include "policy/names.h"
#include "policy/pod_traits.h"

namespace gantry::gpu_operator::upgrade {
namespace {

constexpr std::string_view kRevisionHash = "controller-revision-hash";
// Restarts after which NVIDIA's operator takes a driver for one that will not start.
constexpr long long kRestarts = 10;
constexpr size_t kLongestTrouble = 200;

// Those that the pod names, and those that were made for it from templates.
std::vector<std::string> ClaimsOf(const Json& pod) {
  std::vector<std::string> claims;
  for (const char* list : {"spec.resourceClaims", "status.resourceClaimStatuses"}) {
    for (const Json& claim : ListAt(pod, list)) {
      if (std::string name = TextAt(claim, "resourceClaimName"); !name.empty()) {
        claims.push_back(std::move(name));
      }
    }
  }
  return claims;
}

std::string DigestOf(const Json& pod_spec) {
  for (const Json& container : ListAt(pod_spec, "containers")) {
    for (const Json& variable : ListAt(container, "env")) {
      std::string digest = TextAt(variable, "value");
      if (TextAt(variable, "name") == names::kDriverConfigDigest && !digest.empty()) {
        return digest;
      }
    }
  }
  return "";
}

std::string LabelText(const Json& object, std::string_view label) {
  const std::string* value = kube::LabelOf(object, label);
  return value == nullptr ? "" : *value;
}

// "driver: ImagePullBackOff: the message".
std::string TroubleOf(const Json& status) {
  const Json* state = At(status, "state.waiting");
  if (state == nullptr) {
    state = At(status, "state.terminated");
  }
  if (state == nullptr) {
    return "";
  }
  std::string trouble = format("{}: {}", TextAt(status, "name"), TextAt(*state, "reason"));
  if (const std::string message = TextAt(*state, "message"); !message.empty()) {
    trouble += ": " + message;
  }
  trouble.resize(std::min(trouble.size(), kLongestTrouble));
  std::ranges::replace(trouble, '\n', ' ');
  return trouble;
}

void ReadContainers(const Json& pod, PodFacts& facts) {
  int containers = 0;
  int ready = 0;
  for (const Json& status : ListAt(pod, "status.containerStatuses")) {
    ++containers;
    if (BoolAt(status, "ready", false)) {
      ++ready;
    } else if (facts.trouble.empty()) {
      facts.trouble = TroubleOf(status);
    }
  }
  for (const char* list : {"status.containerStatuses", "status.initContainerStatuses"}) {
    for (const Json& status : ListAt(pod, list)) {
      facts.given_up |=
          !BoolAt(status, "ready", false) && IntAt(status, "restartCount", 0) > kRestarts;
    }
  }
  // An init container that has not ended is why the others wait.
  for (const Json& status : ListAt(pod, "status.initContainerStatuses")) {
    const bool waits = At(status, "state.waiting") != nullptr ||
                       IntAt(status, "state.terminated.exitCode", 0) != 0;
    if (waits && !BoolAt(status, "ready", false)) {
      facts.trouble = TroubleOf(status);
    }
  }
  facts.ready = containers > 0 && ready == containers && TextAt(pod, "status.phase") == "Running";
}

}  // namespace

PodFacts ProjectPod(const Json& pod) {
  PodFacts facts;
  facts.node = TextAt(pod, "spec.nodeName");
  facts.uid = kube::UidOf(pod);
  facts.revision = LabelText(pod, kRevisionHash);
  const policy::PodTraits traits = policy::TraitsOf(pod);
  facts.daemon_set = traits.daemon_set;
  facts.managed = traits.managed;
  facts.mirror = traits.mirror;
  facts.finished = traits.finished;
  facts.uses_gpus = traits.uses_gpus;
  facts.has_empty_dir = traits.has_empty_dir;
  facts.deleting = At(pod, "metadata.deletionTimestamp") != nullptr;
  if (const Json* spec = At(pod, "spec"); spec != nullptr) {
    facts.digest = DigestOf(*spec);
  }
  facts.claims = ClaimsOf(pod);
  ReadContainers(pod, facts);
  return facts;
}

bool HoldsGpus(const Json& claim) {
  return std::ranges::any_of(ListAt(claim, "status.allocation.devices.results"),
                             [](const Json& device) {
                               return TextAt(device, "driver") == names::kGpuDraDriver &&
                                      !BoolAt(device, "adminAccess", false);
                             });
}

RevisionFacts ProjectRevision(const Json& revision) {
  RevisionFacts facts;
  facts.daemon_set = policy::DaemonSetOf(revision);
  facts.hash = LabelText(revision, kRevisionHash);
  facts.number = IntAt(revision, "revision", 0);
  if (const Json* spec = At(revision, "data.spec.template.spec"); spec != nullptr) {
    facts.digest = DigestOf(*spec);
  }
  return facts;
}

}  // namespace gantry::gpu_operator::upgrade
