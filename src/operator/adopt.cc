// SPDX-License-Identifier: Apache-2.0

// Can a DaemonSet of NVIDIA's operator be left unchanged? Gantry would write another template for
// the same settings (other init containers, other scripts), which would restart every pod for
// nothing. So the template is kept until the policy requests something else; a hash of Gantry's
// rendering is recorded. NVIDIA's own hash annotation is kept too, by which its operator would
// recognise the DaemonSet.

#include "operator/adopt.h"

#include <algorithm>
#include <array>
#include <string>

#include "kube/object.h"
#include "operator/earlier.h"
#include "operator/plan.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

const Json& PodOf(const Json& set) {
  static const Json kNone = Json::object();
  const Json* pod = At(set, "spec.template.spec");
  return pod == nullptr ? kNone : *pod;
}

const Json* Named(const Json& list, std::string_view name) {
  const auto found =
      std::ranges::find_if(list, [&](const Json& item) { return TextAt(item, "name") == name; });
  return found == list.end() ? nullptr : &*found;
}

// A container of Gantry's image without a counterpart in NVIDIA's operator.
bool IsWaiter(const Json& container) {
  const Json& command = ListAt(container, "command");
  return !command.empty() && command.front() == "await-status";
}

// Whether its arguments are a script, which differs between the operators.
bool RunsScript(const Json& container) {
  const Json& command = ListAt(container, "command");
  const Json& args = ListAt(container, "args");
  return command.size() == 2 && args.size() == 1 &&
         args.front().get<std::string>().find(' ') != std::string::npos;
}

// The source of a volume's files.
Json SourceOf(const Json& pod, const std::string& volume) {
  const Json* found = Named(ListAt(pod, "volumes"), volume);
  if (found == nullptr) {
    return {};
  }
  for (const char* source : {"hostPath.path", "configMap.name", "secret.secretName"}) {
    if (const std::string text = TextAt(*found, source); !text.empty()) {
      return {source, text};
    }
  }
  return "empty";
}

bool HasMounts(const Json& container, const Json& pod, const Json& observed,
               const Json& observed_pod) {
  const Json& mounts = ListAt(observed, "volumeMounts");
  return std::ranges::all_of(ListAt(container, "volumeMounts"), [&](const Json& mount) {
    return std::ranges::any_of(mounts, [&](const Json& other) {
      return TextAt(other, "mountPath") == TextAt(mount, "mountPath") &&
             TextAt(other, "subPath") == TextAt(mount, "subPath") &&
             SourceOf(observed_pod, TextAt(other, "name")) == SourceOf(pod, TextAt(mount, "name"));
    });
  });
}

bool HasVariables(const Json& container, const Json& observed) {
  const Json& variables = ListAt(observed, "env");
  return std::ranges::all_of(ListAt(container, "env"), [&](const Json& variable) {
    const std::string name = TextAt(variable, "name");
    if (variable.contains("valueFrom") || name == names::kDriverConfigDigest) {
      return true;  // the same for every policy, or made from the fields compared here
    }
    const Json* other = Named(variables, name);
    return other != nullptr && !other->contains("valueFrom") &&
           TextAt(*other, "value") == TextAt(variable, "value");
  });
}

Json ValueAt(const Json& json, std::string_view path) {
  const Json* found = At(json, path);
  return found == nullptr ? Json() : *found;
}

bool SameParts(const Json& left, const Json& right, std::initializer_list<const char*> keys) {
  return std::ranges::all_of(keys, [&](const char* key) { return SameIn(key, left, right); });
}

bool IsMet(const Json& container, const Json& pod, const Json* observed, const Json& observed_pod) {
  return observed != nullptr &&
         SameParts(container, *observed, {"image", "imagePullPolicy", "resources", "envFrom"}) &&
         (RunsScript(container) || SameIn("args", container, *observed)) &&
         HasVariables(container, *observed) && HasMounts(container, pod, *observed, observed_pod);
}

// The chart's labels, which are on every pod.
bool IsOfChart(const std::string& label) {
  return label == "helm.sh/chart" || label == names::kManagedBy;
}

bool HasTexts(const Json& desired, const Json& observed, std::string_view path) {
  const Json* wanted = At(desired, path);
  const Json* there = At(observed, path);
  return wanted == nullptr || std::ranges::all_of(wanted->items(), [&](const auto& item) {
           return IsOfChart(item.key()) || (there != nullptr && there->contains(item.key()) &&
                                            (*there)[item.key()] == item.value());
         });
}

bool HasPullSecrets(const Json& pod, const Json& observed) {
  return std::ranges::all_of(ListAt(pod, "imagePullSecrets"), [&](const Json& secret) {
    return Named(ListAt(observed, "imagePullSecrets"), TextAt(secret, "name")) != nullptr;
  });
}

// The desired DaemonSet with the observed one's node selector, if both are a driver's: a driver's
// nodes do not matter for its pods' template.
Json ForTheSameNodes(const Json& desired, const Json& observed) {
  const Json* nodes = At(observed, "spec.template.spec.nodeSelector");
  if (nodes == nullptr || At(desired, {"metadata", "labels", names::kDriverSystem}) == nullptr) {
    return desired;
  }
  Json same = desired;
  same["spec"]["template"]["spec"]["nodeSelector"] = *nodes;
  return same;
}

// Made by NVIDIA's operator, and not written by Gantry since.
bool IsNvidias(const Json& set) {
  return kube::AnnotationOf(set, names::kLastAppliedHash) != nullptr &&
         kube::AnnotationOf(set, names::kRendering) == nullptr;
}

std::string AnnotationOrEmpty(const Json& set, std::string_view annotation) {
  const std::string* found = kube::AnnotationOf(set, annotation);
  return found == nullptr ? "" : *found;
}

}  // namespace

bool MeetsPolicy(const Json& desired, const Json& observed) {
  const Json& pod = PodOf(desired);
  const Json& observed_pod = PodOf(observed);
  const bool containers =
      std::ranges::all_of(std::array{"initContainers", "containers"}, [&](const char* list) {
        return std::ranges::all_of(ListAt(pod, list), [&](const Json& container) {
          return IsWaiter(container) ||
                 IsMet(container, pod, Named(ListAt(observed_pod, list), TextAt(container, "name")),
                       observed_pod);
        });
      });
  return containers &&
         ListAt(pod, "containers").size() == ListAt(observed_pod, "containers").size() &&
         SameParts(pod, observed_pod,
                   {"nodeSelector", "tolerations", "priorityClassName", "hostNetwork", "hostPID",
                    "runtimeClassName", "securityContext"}) &&
         HasPullSecrets(pod, observed_pod) &&
         HasTexts(desired, observed, "spec.template.metadata.labels") &&
         HasTexts(desired, observed, "spec.template.metadata.annotations") &&
         TextAt(desired, "spec.updateStrategy.type") ==
             TextAt(observed, "spec.updateStrategy.type") &&
         ValueAt(desired, "spec.updateStrategy.rollingUpdate.maxUnavailable") ==
             ValueAt(observed, "spec.updateStrategy.rollingUpdate.maxUnavailable");
}

Json InPlaceOf(const Json& desired, const Json& observed) {
  if (At(desired, {"metadata", "labels", names::kInjectTrustedCa}) != nullptr &&
      observed.contains("data")) {
    Json filled = desired;
    filled["data"] = observed["data"];
    return filled;
  }
  if (TextAt(desired, "kind") != "DaemonSet") {
    return WithEarlier(desired, observed);
  }
  if (!IsNvidias(observed)) {
    return desired;
  }
  const std::string rendering = AnnotationOrEmpty(desired, names::kRendering);
  const std::string adopted = AnnotationOrEmpty(observed, names::kAdopted);
  if ((!adopted.empty() && adopted != rendering) ||
      !MeetsPolicy(ForTheSameNodes(desired, observed), observed)) {
    return desired;
  }
  Json kept = desired;
  kept["spec"] = observed["spec"];
  kept["spec"]["template"]["spec"]["nodeSelector"] = PodOf(desired)["nodeSelector"];
  Json& annotations = kept["metadata"]["annotations"];
  annotations.erase(names::kRendering);
  annotations.erase(names::kLastAppliedHash);
  annotations[names::kAdopted] = rendering;
  return kept;
}

}  // namespace gantry::gpu_operator
