// SPDX-License-Identifier: Apache-2.0

// Which fields of a Pod decide whether a node's driver can be replaced? A Pod is 5 to 20 KB of
// JSON, of which a few fields are kept. A ResourceClaim may also hold a GPU.

#include "operator/upgrade/pod_facts.h"

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "operator/node_facts.h"
#include "policy/names.h"
#include "policy/pod_traits.h"

namespace gantry::gpu_operator::upgrade {
namespace {

constexpr std::string_view kRevisionHash = "controller-revision-hash";
// Restarts after which NVIDIA's operator considers a driver failed.
constexpr long long kRestarts = 10;
// An init container may fail this often for a transient reason, such as a network that has just
// started.
constexpr long long kFailures = 3;
constexpr size_t kLongestTrouble = 300;

// The claims that the pod names, and those made for it from templates.
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

// The part of its node selector that the kept labels of Nodes can decide.
std::string NodesOf(const Json& pod_spec) {
  Labels labels;
  if (const Json* selector = At(pod_spec, "nodeSelector"); selector != nullptr) {
    for (const auto& [key, value] : selector->items()) {
      if (IsAlwaysKept(key) && value.is_string()) {
        labels.emplace(key, value.get<std::string>());
      }
    }
  }
  return PackLabels(labels);
}

// The state that explains why a container does not run, or nullptr: its last termination, if the
// present state only says that it is restarted.
const Json* CauseIn(const Json& status) {
  const Json* ended = At(status, "lastState.terminated");
  if (const Json* waiting = At(status, "state.waiting"); waiting != nullptr) {
    const bool tries = ended != nullptr && TextAt(*waiting, "reason") == "CrashLoopBackOff";
    return tries ? ended : waiting;
  }
  const Json* ends = At(status, "state.terminated");
  return ends != nullptr ? ends : ended;
}

// "driver: ImagePullBackOff: the message", "driver: Error, exit code 1: its last message".
std::string TroubleOf(const Json& status) {
  const Json* cause = CauseIn(status);
  if (cause == nullptr) {
    return "";
  }
  std::string trouble = format("{}: {}", TextAt(status, "name"), TextAt(*cause, "reason"));
  if (const long long code = IntAt(*cause, "exitCode", 0); code != 0) {
    trouble += format(", exit code {}", code);
  }
  if (const std::string message = TextAt(*cause, "message"); !message.empty()) {
    trouble += format(": {}", Trim(message));
  }
  std::ranges::replace(trouble, '\n', ' ');
  return std::string(Cut(trouble, kLongestTrouble));
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
  // An init container that has not finished explains why the others wait.
  for (const Json& status : ListAt(pod, "status.initContainerStatuses")) {
    if (BoolAt(status, "ready", false)) {
      continue;
    }
    // It also restarts after a reboot, without a failure.
    const bool failed = IntAt(status, "state.terminated.exitCode",
                              IntAt(status, "lastState.terminated.exitCode", 0)) != 0;
    facts.init_fails |= failed && IntAt(status, "restartCount", 0) >= kFailures;
    if (failed || At(status, "state.waiting") != nullptr) {
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
  facts.created = TextAt(pod, "metadata.creationTimestamp");
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
    facts.nodes = NodesOf(*spec);
    Json pods = *At(revision, "data.spec.template");
    pods["spec"].erase("nodeSelector");
    facts.pods = std::hash<std::string>()(pods.dump());
  }
  return facts;
}

}  // namespace gantry::gpu_operator::upgrade
