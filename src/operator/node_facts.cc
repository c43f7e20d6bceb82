// SPDX-License-Identifier: Apache-2.0

// Which fields of a Node and of a NodeFeature matter? A Node is 10 to 20 KB of JSON, of which the
// operator needs 1. Labels from NodeFeature objects are checked here: the API server would reject
// the entire patch for one invalid label, and, as in NFD, the right to write such an object must
// not include labels that scheduling and admission trust.

#include "operator/node_facts.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/text.h"
#include "kube/object.h"
#include "nfd/evaluate.h"
#include "policy/feature_labels.h"
#include "policy/names.h"
#include "policy/node_feature.h"

namespace gantry::gpu_operator {
namespace {

bool IsUpgradeAnnotation(std::string_view key) {
  return key.starts_with(names::kUpgradePrefix) || key == names::kUpgradeCordon ||
         key == names::kUpgradeStep;
}

bool HasGpuResource(const Json& node, const char* list) {
  const Json* resources = At(node, list);
  if (resources == nullptr || !resources->is_object()) {
    return false;
  }
  return std::ranges::any_of(resources->items(), [](const auto& item) {
    return names::IsGpuResource(item.key()) && item.value() != "0";
  });
}

bool IsReady(const Json& node) {
  return std::ranges::any_of(ListAt(node, "status.conditions"), [](const Json& condition) {
    return TextAt(condition, "type") == "Ready" && TextAt(condition, "status") == "True";
  });
}

// A comma-separated annotation of keys, with the values that `values` has for them.
Labels ReadOwned(const Json& annotations, const std::string& record, const Json* values) {
  Labels owned;
  for (const std::string& key : Split(annotations.value(record, ""), ',')) {
    const std::string full = nfd::WithPrefix(key);
    owned[full] = values == nullptr ? "" : values->value(full, "");
  }
  return owned;
}

void ReadAnnotations(const Json& node, const std::string& instance, NodeFacts& facts) {
  const Json* annotations = At(node, "metadata.annotations");
  if (annotations == nullptr) {
    return;
  }
  facts.features = annotations->value(names::kFeatureLabelsAnnotation, "");
  facts.startup_taint = annotations->value(names::kStartupTaint, "");
  facts.mig_gpu_holders = annotations->value(names::kMigGpuHolders, "");
  facts.mig_holders_step = annotations->value(names::kMigHoldersStep, "");
  facts.foreign_nfd = annotations->contains(names::kNfdMasterVersion);
  Labels upgrade;
  for (const auto& [key, value] : annotations->items()) {
    if (IsUpgradeAnnotation(key)) {
      upgrade.emplace(key, value.get<std::string>());
    }
  }
  facts.upgrade = PackLabels(upgrade);
  std::string nfd = annotations->value(NfdRecord(names::kNfdFeatureLabelsAnnotation, instance), "");
  if (nfd != FormatNfdLabels(ParseSources(facts.features))) {
    facts.nfd_labels = std::move(nfd);
  }
  facts.rule_annotations =
      ReadOwned(*annotations, NfdRecord(names::kNfdFeatureAnnotations, instance), annotations);
  facts.rule_resources = ReadOwned(*annotations, NfdRecord(names::kNfdExtendedResources, instance),
                                   At(node, "status.capacity"));
  facts.rule_taints = ParseTaints(annotations->value(NfdRecord(names::kNfdTaints, instance), ""));
}

// The keys of a map that are not in `owned`.
std::set<std::string, std::less<>> KeysBeside(const Json* map, const Labels& owned) {
  std::set<std::string, std::less<>> keys;
  if (map != nullptr) {
    for (const auto& [key, value] : map->items()) {
      if (!owned.contains(key)) {
        keys.insert(key);
      }
    }
  }
  return keys;
}

// The message of the validator or the MIG manager, if it is their object; empty if nothing is
// wrong.
std::string BrokenBy(const Json& node_feature, const std::string& node) {
  constexpr size_t kLongest = 500;
  const std::string name = TextAt(node_feature, "metadata.name");
  const auto message = [&](const char* label, const char* annotation, const auto& is_wrong) {
    const Json* word = At(node_feature, {"spec", "labels", label});
    const std::string* said = kube::AnnotationOf(node_feature, annotation);
    return word != nullptr && is_wrong(*word) && said != nullptr ? std::string(Cut(*said, kLongest))
                                                                 : "";
  };
  if (name == names::kValidationFeature + node) {
    return message(names::kGpuValidation, names::kValidationMessage,
                   [](const Json& word) { return word != names::kValidationReady; });
  }
  if (name == names::kMigFeature + node) {
    return message(names::kMigConfigState, names::kMigMessage,
                   [](const Json& word) { return word == names::kMigFailed; });
  }
  return "";
}

}  // namespace

bool IsOfOurOperand(std::string_view name, std::string_view node) {
  for (const std::string_view prefix :
       {"", names::kGpuFeature, names::kValidationFeature, names::kMigFeature}) {
    if (name.starts_with(prefix) && name.substr(prefix.size()) == node) {
      return true;
    }
  }
  return false;
}

// This also rejects labels that this operator decides itself.
bool MayBeFeature(std::string_view key, const nfd::LabelPolicy& policy) {
  return (policy::DecidesOperands(key) || nfd::MayBeLabel(key, policy)) &&
         key != names::kGpuPresent && !key.starts_with(names::kDeployPrefix) &&
         key != names::kDriverUpgradeState && key != names::kDriverOwner;
}

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

std::string ValueOf(const Labels& labels, std::string_view key) {
  const auto found = labels.find(key);
  return found == labels.end() ? "" : found->second;
}

std::string_view ValueIn(std::string_view packed, std::string_view key) {
  while (!packed.empty()) {
    const size_t end = packed.find('\n');
    const std::string_view line = packed.substr(0, end);
    if (line.size() > key.size() && line[key.size()] == '=' && line.starts_with(key)) {
      return line.substr(key.size() + 1);
    }
    packed.remove_prefix(end + 1);
  }
  return {};
}

Labels UnpackLabels(std::string_view packed) {
  Labels labels;
  ForEachLabel(packed, [&](std::string_view key, std::string_view value) {
    labels.emplace_hint(labels.end(), key, value);
  });
  return labels;
}

bool IsAlwaysKept(std::string_view key) {
  return key.starts_with("nvidia.com/") || policy::IsSystemLabel(key) ||
         policy::ReadPciLabel(key) != policy::PciLabel::kNothing;
}

NodeFacts ProjectNode(const Json& node, const NodeReading& reading) {
  NodeFacts facts;
  ReadAnnotations(node, reading.instance, facts);
  if (reading.others) {
    facts.other_annotations = KeysBeside(At(node, "metadata.annotations"), facts.rule_annotations);
    facts.other_resources = KeysBeside(At(node, "status.capacity"), facts.rule_resources);
  }
  Labels kept;
  if (const Json* labels = At(node, "metadata.labels"); labels != nullptr) {
    FeatureSources sources = ParseSources(facts.features);
    for (const std::string& key : Split(facts.nfd_labels.value_or(""), ',')) {
      sources[""].push_back(nfd::WithPrefix(key));
    }
    const auto from_feature = [&](const std::string& key) {
      return std::ranges::any_of(sources, [&](const auto& source) {
        return std::ranges::find(source.second, key) != source.second.end();
      });
    };
    for (const auto& [key, value] : labels->items()) {
      const bool feature = key.starts_with(names::kFeaturePrefix);
      facts.described |= feature;
      if (IsAlwaysKept(key) || from_feature(key)) {
        kept.emplace(key, value.get<std::string>());
      }
      if (reading.others && !from_feature(key)) {
        facts.other_labels.insert(key);
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
  facts.cordoned = BoolAt(node, "spec.unschedulable", false);
  facts.gpu_resource = HasGpuResource(node, "status.capacity");
  facts.gpu_allocatable = HasGpuResource(node, "status.allocatable");
  return facts;
}

FeatureFacts ProjectFeatures(const Json& node_feature, const FeatureReading& reading) {
  FeatureFacts facts;
  if (const Json* node = At(node_feature, {"metadata", "labels", names::kNfdNodeName});
      node != nullptr && node->is_string()) {
    facts.node = node->get<std::string>();
  }
  if (const Json* version = At(node_feature, {"metadata", "annotations", names::kNfdWorkerVersion});
      version != nullptr && version->is_string()) {
    facts.ours = policy::IsFromOurWorker(node_feature);
    facts.foreign = !facts.ours;
  }
  nfd::Features features;
  if (const Json* all = At(node_feature, "spec.features"); all != nullptr) {
    features = nfd::FeaturesFrom(*all);
    facts.gpus = policy::HasPciGpu(*all);
  }
  std::map<std::string, std::string> labels;
  const bool chosen = reading.namespaces.contains(TextAt(node_feature, "metadata.namespace"));
  if (reading.others_labels ||
      (!chosen && IsOfOurOperand(TextAt(node_feature, "metadata.name"), facts.node))) {
    labels = policy::NodeFeatureLabels(node_feature);
  }
  const auto said = nfd::WithPrefixes({labels.begin(), labels.end()});
  std::vector<std::string> unresolved;  // their labels are left out
  Labels valid;
  for (const auto& [key, value] : nfd::Resolve(said, features, unresolved)) {
    if (MayBeFeature(key, reading.label_policy) && nfd::IsLabelValue(value)) {
      valid.emplace(key, value);
    }
  }
  if (const auto kept = nfd::Keep(features, reading.needs); !kept.empty()) {
    facts.features = nfd::ToJson(kept).dump();
  }
  facts.broken = BrokenBy(node_feature, facts.node);
  if (const std::string* holders = kube::AnnotationOf(node_feature, names::kMigHolders);
      holders != nullptr &&
      TextAt(node_feature, "metadata.name") == names::kMigFeature + facts.node) {
    facts.mig_holders = *holders;
  }
  facts.rejected = static_cast<int>(said.size() - valid.size());
  if (!reading.labels) {
    std::erase_if(valid, [](const auto& label) { return !policy::DecidesOperands(label.first); });
  }
  facts.labels = PackLabels(valid);
  return facts;
}

FeatureSources ParseSources(std::string_view annotation) {
  FeatureSources sources;
  for (const std::string& group : Split(annotation, ';')) {
    const size_t colon = group.find(':');
    if (colon != std::string::npos) {
      std::vector<std::string>& keys = sources[group.substr(0, colon)];
      for (const std::string& key : Split(std::string_view(group).substr(colon + 1), ',')) {
        keys.push_back(nfd::WithPrefix(key));
      }
    }
  }
  return sources;
}

std::vector<std::string> SourceNames(std::string_view annotation) {
  std::vector<std::string> names;
  for (const std::string& group : Split(annotation, ';')) {
    if (const size_t colon = group.find(':'); colon != std::string::npos) {
      names.push_back(group.substr(0, colon));
    }
  }
  return names;
}

std::string FormatSources(const FeatureSources& sources) {
  std::string text;
  for (const auto& [source, keys] : sources) {
    if (!text.empty()) {
      text += ';';
    }
    std::vector<std::string> bare;
    std::ranges::transform(keys, std::back_inserter(bare), nfd::WithoutPrefix);
    text += source + ':' + Join(bare, ",");
  }
  return text;
}

std::string FormatNfdLabels(const FeatureSources& sources) {
  std::set<std::string> bare;
  for (const auto& [source, keys] : sources) {
    for (const std::string& key : keys) {
      bare.insert(nfd::WithoutPrefix(key));
    }
  }
  return Join({bare.begin(), bare.end()}, ",");
}

std::string NfdRecord(std::string_view record, std::string_view instance) {
  return instance.empty() ? std::string(record) : format("{}.{}", instance, record);
}

std::string FormatTaints(const std::vector<Taint>& taints) {
  std::vector<std::string> texts;
  std::ranges::transform(taints, std::back_inserter(texts), [](const Taint& taint) {
    return format("{}{}{}:{}", taint.key, taint.value.empty() ? "" : "=", taint.value,
                  taint.effect);
  });
  return Join(texts, ",");
}

std::vector<Taint> ParseTaints(std::string_view text) {
  std::vector<Taint> taints;
  for (const std::string& part : Split(text, ',')) {
    const size_t colon = part.rfind(':');
    if (colon == std::string::npos) {
      continue;
    }
    const size_t equals = std::min(part.find('='), colon);
    taints.push_back({part.substr(0, equals),
                      equals < colon ? part.substr(equals + 1, colon - equals - 1) : "",
                      part.substr(colon + 1)});
  }
  return taints;
}

}  // namespace gantry::gpu_operator
