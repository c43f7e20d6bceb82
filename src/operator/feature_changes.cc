// SPDX-License-Identifier: Apache-2.0

// What do NodeFeature objects and NodeFeatureRules change on a node? Labels, annotations, extended
// resources and taints, each with a record of its source, so that only its source removes it.

#include "operator/feature_changes.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

#include "base/text.h"
#include "operator/mig_holders.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

// The source, in the operator's record, of labels from NodeFeatureRules; no object has this name.
constexpr char kRules[] = "NodeFeatureRule";

// The objects that had labels for this node before and have none now.
std::vector<std::string> Silent(const NodeFacts& node, const NamedFeatures& features) {
  std::vector<std::string> silent = SourceNames(node.features);
  std::erase_if(silent, [&](const std::string& object) {
    return object == kRules ||
           std::ranges::find(features, object, &NamedFeatures::value_type::first) != features.end();
  });
  return silent;
}

// Whether a Gantry operand's object is missing: it will come back, and until then rules see only
// part of the node. Third parties' objects may be gone for good, and do not delay anything.
bool IsHalfDescribed(const std::string& name, const NodeFacts& node,
                     const NamedFeatures& features) {
  return std::ranges::any_of(Silent(node, features), [&](const std::string& object) {
    return IsOfOurOperand(object, name);
  });
}

bool IsDescribed(const NamedFeatures& features) {
  return std::ranges::any_of(features, [](const auto& feature) { return feature.second->ours; });
}

Labels RuleLabels(const RuleSays& says) {
  Labels labels;
  for (const auto& [key, value] : says.outputs.labels) {
    if (MayBeFeature(key, says.label_policy) && nfd::IsLabelValue(value)) {
      labels.emplace(key, value);
    }
  }
  return labels;
}

// Labels of an earlier NFD that no Gantry operand has published: they are removed once Gantry's
// worker has described the node, because NFD would remove them too.
void DropForeign(const NodeFacts& node, const NamedFeatures& features, const RuleSays& says,
                 std::set<std::string>& dropped) {
  if (IsDescribed(features)) {
    for (const std::string& key : Split(node.nfd_labels.value_or(""), ',')) {
      // The record is only an annotation that anyone may have written.
      if (std::string full = nfd::WithPrefix(key); MayBeFeature(full, says.label_policy)) {
        dropped.insert(std::move(full));
      }
    }
  }
}

// `half`: rules have seen only part of the node.
void ApplyFeatures(const NodeFacts& node, const NamedFeatures& features, const LabelRules& rules,
                   const RuleSays& says, const std::vector<std::string>& gone, bool half,
                   LabelEditor& editor) {
  FeatureSources sources = ParseSources(node.features);
  Labels said;
  std::set<std::string> dropped;
  // A source's earlier and present keys; `keep`: keys that it no longer has are kept.
  const auto take = [&](const std::string& name, const Labels& labels, bool keep) {
    std::vector<std::string>& before = sources[name];
    std::set<std::string> keys(before.begin(), before.end());
    for (const auto& [key, value] : labels) {
      if (!node.other_labels.contains(key)) {
        keys.insert(key);
        said.insert_or_assign(key, value);
      }
    }
    for (const std::string& key : before) {
      if (!keep && !labels.contains(key)) {
        keys.erase(key);
        dropped.insert(key);
      }
    }
    before.assign(keys.begin(), keys.end());
  };
  for (const auto& [name, facts] : features) {
    Labels labels = UnpackLabels(facts->labels);
    if (!rules.validated) {
      labels.erase(names::kGpuValidation);  // Gantry's validator's last verdict would stay for ever
    }
    if (!rules.mig_states) {
      labels.erase(names::kMigConfigState);
    } else if (const auto holders = HoldersOf(node, facts->mig_holders); holders.has_value()) {
      labels[names::kMigConfigState] = StateWithHolders(node, *holders, rules.gpu_holders);
    }
    take(name, labels, false);
    editor.change.rejected_labels += facts->rejected;
  }
  const Labels from_rules = RuleLabels(says);
  editor.change.rejected_labels += static_cast<int>(says.outputs.labels.size() - from_rules.size());
  // Rules that saw only part of a node are no reason to remove something.
  take(kRules, from_rules, half);
  // While no object describes the node, all NodeFeatures may be missing for a moment.
  if (IsDescribed(features)) {
    for (const std::string& object : gone) {
      if (const auto source = sources.find(object); source != sources.end()) {
        dropped.insert(source->second.begin(), source->second.end());
        sources.erase(source);
      }
    }
  }
  DropForeign(node, features, says, dropped);
  for (const auto& [key, value] : said) {
    editor.Set(key, value);
  }
  for (const std::string& key : dropped) {
    const bool elsewhere = std::ranges::any_of(sources, [&](const auto& source) {
      return std::ranges::find(source.second, key) != source.second.end();
    });
    if (!elsewhere) {
      editor.Remove(key);
    }
  }
  std::erase_if(sources, [](const auto& source) { return source.second.empty(); });
  if (std::string written = FormatSources(sources); written != node.features) {
    editor.Annotate(names::kFeatureLabelsAnnotation, std::move(written));
  }
  // Until Gantry's worker has described the node, NFD's record lists what NFD has left.
  const std::string record = FormatNfdLabels(sources);
  const bool foreign_left =
      node.nfd_labels.has_value() && !node.nfd_labels->empty() && !IsDescribed(features);
  const std::string stored = node.nfd_labels.value_or(FormatNfdLabels(ParseSources(node.features)));
  if (!foreign_left && record != stored) {
    editor.Annotate(NfdRecord(names::kNfdFeatureLabelsAnnotation, says.instance), record);
  }
}

std::string KeysOf(const Labels& map) {
  std::vector<std::string> keys;
  std::ranges::transform(map, std::back_inserter(keys),
                         [](const auto& entry) { return nfd::WithoutPrefix(entry.first); });
  std::ranges::sort(keys);
  return Join(keys, ",");
}

// Compares wanted with existing annotations or resources.
template <typename Same>
void Compare(const Labels& wanted, const Labels& owned, const Same& same,
             std::map<std::string, std::optional<std::string>>& change) {
  for (const auto& [key, value] : wanted) {
    const auto found = owned.find(key);
    if (found == owned.end() || !same(found->second, value)) {
      change[key] = value;
    }
  }
  for (const auto& [key, value] : owned) {
    if (!wanted.contains(key)) {
      change[key] = std::nullopt;
    }
  }
}

// `keep`, here and below: keeps what rules wrote earlier and don't now.
void ApplyAnnotations(const NodeFacts& node, const RuleSays& says, bool keep, LabelEditor& editor) {
  constexpr size_t kLongestAnnotation = 1024;
  Labels wanted;
  for (const auto& [key, value] : says.outputs.annotations) {
    if (nfd::MayBeOther(key) && value.size() <= kLongestAnnotation &&
        !node.other_annotations.contains(key)) {
      wanted.emplace(key, value);
    }
  }
  if (keep) {
    wanted.insert(node.rule_annotations.begin(), node.rule_annotations.end());
  }
  Compare(wanted, node.rule_annotations, std::equal_to<>(), editor.change.annotations);
  if (const std::string record = KeysOf(wanted); record != KeysOf(node.rule_annotations)) {
    editor.Annotate(NfdRecord(names::kNfdFeatureAnnotations, says.instance), record);
  }
}

void ApplyResources(const NodeFacts& node, const RuleSays& says, bool keep, LabelEditor& editor) {
  Labels wanted;
  for (const auto& [key, value] : says.outputs.extended_resources) {
    if (nfd::MayBeOther(key) && nfd::WholeQuantity(value).has_value() &&
        !node.other_resources.contains(key)) {
      wanted.emplace(key, value);
    }
  }
  editor.change.rejected_resources =
      static_cast<int>(says.outputs.extended_resources.size() - wanted.size());
  if (keep) {
    wanted.insert(node.rule_resources.begin(), node.rule_resources.end());
  }
  // The API server stores 2000 as 2k.
  const auto same = [](const std::string& left, const std::string& right) {
    return nfd::WholeQuantity(left) == nfd::WholeQuantity(right);
  };
  Compare(wanted, node.rule_resources, same, editor.change.resources);
  if (const std::string record = KeysOf(wanted); record != KeysOf(node.rule_resources)) {
    editor.Annotate(NfdRecord(names::kNfdExtendedResources, says.instance), record);
  }
}

void ApplyTaints(const NodeFacts& node, const RuleSays& says, bool keep, LabelEditor& editor) {
  std::vector<Taint> wanted;
  for (const nfd::Taint& taint : says.outputs.taints) {
    const std::string key = nfd::WithPrefix(taint.key);
    if (says.taints && nfd::MayBeTaint(key, taint.value, taint.effect)) {
      wanted.push_back({key, taint.value, taint.effect});
    }
  }
  editor.change.rejected_taints = static_cast<int>(says.outputs.taints.size() - wanted.size());
  const auto has = [](const std::vector<Taint>& taints, const Taint& taint) {
    return std::ranges::find(taints, taint) != taints.end();
  };
  for (const Taint& taint : node.rule_taints) {
    const bool replaced = std::ranges::any_of(wanted, [&taint](const Taint& other) {
      return other.key == taint.key && other.effect == taint.effect;
    });
    if (keep && !replaced && has(node.taints, taint)) {
      wanted.push_back(taint);
    }
  }
  for (const Taint& taint : wanted) {
    if (!has(node.taints, taint)) {
      editor.change.taint.push_back(taint);
    }
  }
  for (const Taint& taint : node.rule_taints) {
    if (!has(wanted, taint) && has(node.taints, taint)) {
      editor.change.untaint.push_back(taint);
    }
  }
  if (wanted != node.rule_taints) {
    editor.Annotate(NfdRecord(names::kNfdTaints, says.instance), FormatTaints(wanted));
  }
}

}  // namespace

void ApplyNodeFeatures(const std::string& name, const NodeFacts& node,
                       const NamedFeatures& features, const LabelRules& rules, const RuleSays& says,
                       const std::vector<std::string>& gone, LabelEditor& editor) {
  const bool half = IsHalfDescribed(name, node, features);
  ApplyFeatures(node, features, rules, says, gone, half, editor);
  ApplyAnnotations(node, says, half, editor);
  ApplyResources(node, says, half, editor);
  ApplyTaints(node, says, half, editor);
}

std::vector<std::string> SilentOthers(const std::string& name, const NodeFacts& node,
                                      const NamedFeatures& features) {
  std::vector<std::string> others = Silent(node, features);
  std::erase_if(others, [&](const std::string& object) { return IsOfOurOperand(object, name); });
  return others;
}

}  // namespace gantry::gpu_operator
