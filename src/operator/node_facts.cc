// SPDX-License-Identifier: Apache-2.0

// What of a Node and of a NodeFeature decides anything? A Node is 10 to 20 KB of JSON, of which the
// operator needs 1. Labels from NodeFeature objects are checked here, because one that the API
// server refuses would make it refuse the whole patch, and because whoever may write such an object
// must not be able to write labels that scheduling and admission trust (as NFD's own rule is).

#include "operator/node_facts.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "policy/names.h"
#include "policy/node_feature.h"

namespace gantry::gpu_operator {
namespace {

bool IsNamePart(std::string_view text) {
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return !text.empty() && text.size() <= 63 && plain(text.front()) && plain(text.back()) &&
         std::ranges::all_of(text,
                             [&](char c) { return plain(c) || c == '-' || c == '_' || c == '.'; });
}

bool IsUnder(std::string_view domain, std::string_view parent) {
  return domain == parent || (domain.size() > parent.size() && domain.ends_with(parent) &&
                              domain[domain.size() - parent.size() - 1] == '.');
}

// Kubernetes' own domains are refused but for the two that are made for this; so are the labels
// that this operator decides itself.
bool MayBeFeature(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash == std::string_view::npos || slash > 253 || !IsNamePart(key.substr(slash + 1))) {
    return false;
  }
  const std::string_view domain = key.substr(0, slash);
  if (IsUnder(domain, "kubernetes.io") || IsUnder(domain, "k8s.io")) {
    return IsUnder(domain, "feature.node.kubernetes.io") ||
           IsUnder(domain, "profile.node.kubernetes.io");
  }
  return key != names::kGpuPresent && !key.starts_with(names::kDeployPrefix) &&
         key != names::kDriverUpgradeState;
}

bool IsGpuPciLabel(std::string_view key) {
  return key == names::kPciNvidia || key == names::kPciNvidia3d || key == names::kPciNvidiaVga;
}

bool HasGpuResource(const Json& node) {
  const Json* capacity = At(node, "status.capacity");
  if (capacity == nullptr || !capacity->is_object()) {
    return false;
  }
  return std::ranges::any_of(capacity->items(), [](const auto& item) {
    const bool gpu =
        item.key().starts_with(names::kGpuResource) || item.key().starts_with("nvidia.com/mig-");
    return gpu && item.value() != "0";
  });
}

bool IsReady(const Json& node) {
  const Json* conditions = At(node, "status.conditions");
  return conditions != nullptr && conditions->is_array() &&
         std::ranges::any_of(*conditions, [](const Json& condition) {
           return TextAt(condition, "type") == "Ready" && TextAt(condition, "status") == "True";
         });
}

}  // namespace

std::string PackLabels(const Labels& labels) {
  std::string packed;
  for (const auto& [key, value] : labels) {
    packed += key;
    packed += '=';
    packed += value;
    packed += '\n';
  }
  packed.shrink_to_fit();
  return packed;
}

Labels UnpackLabels(std::string_view packed) {
  Labels labels;
  while (!packed.empty()) {
    const size_t end = packed.find('\n');
    const std::string_view line = packed.substr(0, end);
    const size_t equals = line.find('=');
    labels.emplace_hint(labels.end(), line.substr(0, equals), line.substr(equals + 1));
    packed.remove_prefix(end + 1);
  }
  return labels;
}

NodeFacts ProjectNode(const Json& node) {
  NodeFacts facts;
  if (const Json* annotations = At(node, "metadata.annotations"); annotations != nullptr) {
    facts.features = annotations->value(names::kFeatureLabelsAnnotation, "");
    facts.startup_taint = annotations->value(names::kStartupTaint, "");
    facts.foreign_nfd = annotations->contains(names::kNfdFeatureLabelsAnnotation);
  }
  Labels kept;
  if (const Json* labels = At(node, "metadata.labels"); labels != nullptr) {
    const FeatureSources sources = ParseSources(facts.features);
    const auto from_feature = [&](const std::string& key) {
      return std::ranges::any_of(sources, [&](const auto& source) {
        return std::ranges::find(source.second, key) != source.second.end();
      });
    };
    for (const auto& [key, value] : labels->items()) {
      const bool feature = key.starts_with(names::kFeaturePrefix);
      facts.described |= feature;
      if (key.starts_with("nvidia.com/") || IsGpuPciLabel(key) || from_feature(key)) {
        kept.emplace(key, value.get<std::string>());
      }
    }
    facts.linux = labels->value("kubernetes.io/os", "") == "linux";
  }
  facts.labels = PackLabels(kept);
  if (const Json* taints = At(node, "spec.taints"); taints != nullptr) {
    for (const Json& taint : *taints) {
      facts.taints.push_back(
          {TextAt(taint, "key"), TextAt(taint, "value"), TextAt(taint, "effect")});
    }
  }
  const std::string runtime = TextAt(node, "status.nodeInfo.containerRuntimeVersion");
  facts.runtime = runtime.substr(0, runtime.find("://"));
  facts.ready = IsReady(node);
  facts.gpu_resource = HasGpuResource(node);
  return facts;
}

FeatureFacts ProjectFeatures(const Json& node_feature) {
  FeatureFacts facts;
  if (const Json* node = At(node_feature, {"metadata", "labels", names::kNfdNodeName});
      node != nullptr && node->is_string()) {
    facts.node = node->get<std::string>();
  }
  if (const Json* version = At(node_feature, {"metadata", "annotations", names::kNfdWorkerVersion});
      version != nullptr && version->is_string()) {
    facts.foreign = !policy::IsFromOurWorker(node_feature);
  }
  Labels valid;
  if (const Json* labels = At(node_feature, "spec.labels");
      labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->items()) {
      const std::string full =
          key.find('/') == std::string::npos ? std::string(names::kFeaturePrefix) + key : key;
      if (!value.is_string() || !MayBeFeature(full)) {
        continue;
      }
      const auto& text = value.get_ref<const std::string&>();
      if (text.empty() || IsNamePart(text)) {
        valid.emplace(full, text);
      }
    }
  }
  facts.labels = PackLabels(valid);
  return facts;
}

FeatureSources ParseSources(std::string_view annotation) {
  FeatureSources sources;
  for (const std::string& group : Split(annotation, ';')) {
    const size_t colon = group.find(':');
    if (colon != std::string::npos) {
      sources[group.substr(0, colon)] = Split(std::string_view(group).substr(colon + 1), ',');
    }
  }
  return sources;
}

std::string FormatSources(const FeatureSources& sources) {
  std::string text;
  for (const auto& [source, keys] : sources) {
    if (!text.empty()) {
      text += ';';
    }
    text += source + ':' + Join(keys, ",");
  }
  return text;
}

}  // namespace gantry::gpu_operator
