// SPDX-License-Identifier: Apache-2.0

// What of a Pod decides whether a node's driver can be exchanged? A Pod is 5 to 20 KB of JSON, of
// which a few words are kept. What counts as a GPU is what the device plugin offers: nvidia.com/gpu
// under any suffix, and MIG devices; besides, what a ResourceClaim holds.

#include "operator/upgrade/pod_facts.h"

#include <algorithm>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::gpu_operator::upgrade {
namespace {

constexpr std::string_view kRevisionHash = "controller-revision-hash";
constexpr std::string_view kDigest = "DRIVER_CONFIG_DIGEST";
// Restarts after which NVIDIA's operator takes a driver for one that will not start.
constexpr long long kRestarts = 10;
constexpr size_t kLongestTrouble = 200;

bool AsksForGpus(const Json& container) {
  const auto asks = [&](const char* path) {
    const Json* resources = At(container, path);
    return resources != nullptr && resources->is_object() &&
           std::ranges::any_of(resources->items(),
                               [](const auto& item) { return names::IsGpuResource(item.key()); });
  };
  return asks("resources.limits") || asks("resources.requests");
}

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
      if (TextAt(variable, "name") == kDigest && !digest.empty()) {
        return digest;
      }
    }
  }
  return "";
}

// The object's controller of kind DaemonSet; `managed`: it has a controller at all.
std::string DaemonSetOf(const Json& object, bool& managed) {
  std::string name;
  for (const Json& owner : ListAt(object, "metadata.ownerReferences")) {
    if (BoolAt(owner, "controller", false)) {
      managed = true;
      if (TextAt(owner, "kind") == "DaemonSet") {
        name = TextAt(owner, "name");
      }
    }
  }
  return name;
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
  facts.daemon_set = DaemonSetOf(pod, facts.managed);
  facts.mirror = kube::AnnotationOf(pod, "kubernetes.io/config.mirror") != nullptr;
  const std::string phase = TextAt(pod, "status.phase");
  facts.finished = phase == "Succeeded" || phase == "Failed";
  facts.deleting = At(pod, "metadata.deletionTimestamp") != nullptr;
  if (const Json* spec = At(pod, "spec"); spec != nullptr) {
    facts.digest = DigestOf(*spec);
  }
  for (const char* list : {"spec.containers", "spec.initContainers"}) {
    facts.uses_gpus |= std::ranges::any_of(ListAt(pod, list), AsksForGpus);
  }
  facts.claims = ClaimsOf(pod);
  facts.has_empty_dir = std::ranges::any_of(
      ListAt(pod, "spec.volumes"), [](const Json& volume) { return volume.contains("emptyDir"); });
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
  bool managed = false;
  facts.daemon_set = DaemonSetOf(revision, managed);
  facts.hash = LabelText(revision, kRevisionHash);
  facts.number = IntAt(revision, "revision", 0);
  if (const Json* spec = At(revision, "data.spec.template.spec"); spec != nullptr) {
    facts.digest = DigestOf(*spec);
  }
  return facts;
}

}  // namespace gantry::gpu_operator::upgrade
