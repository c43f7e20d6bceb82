// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/feature_changes.h"
#include "operator/node_labels.h"
#include "operator/node_patch.h"
#include "operator/rule_set.h"
#include "policy/names.h"
#include "policy/node_feature.h"

namespace gantry::gpu_operator {

// A label of Gantry's worker's NodeFeature, for a node with a GPU.
inline constexpr char kPciLabel[] = "feature.node.kubernetes.io/pci-10de.present";
inline constexpr char kKernelLabel[] = "feature.node.kubernetes.io/kernel-version.full";

// A node, its NodeFeature objects, and its labels after each round.
class LabelledNode {
 public:
  explicit LabelledNode(Json labels = Json::object()) {
    labels["kubernetes.io/os"] = "linux";
    node_ = {{"metadata",
              {{"name", "n"}, {"labels", std::move(labels)}, {"annotations", Json::object()}}},
             {"spec", Json::object()}};
  }
  LabelledNode& Feature(const std::string& name, Json labels, const Json& features = Json::object(),
                        const Json& annotations = Json::object()) {
    features_[name] = ProjectFeatures(
        {{"metadata",
          {{"name", name}, {"labels", {{names::kNfdNodeName, "n"}}}, {"annotations", annotations}}},
         {"spec", {{"labels", std::move(labels)}, {"features", features}}}});
    return *this;
  }
  LabelledNode& NoFeature(const std::string& name) {
    features_.erase(name);
    return *this;
  }
  LabelledNode& Delete(const std::string& name) {
    deleted_.insert(name);
    return NoFeature(name);
  }
  LabelledNode& Set(const std::string& label, const char* value) {
    if (value == nullptr) {
      node_["metadata"]["labels"].erase(label);
    } else {
      node_["metadata"]["labels"][label] = value;
    }
    return *this;
  }
  NodeChange Decide() {
    NamedFeatures named;
    for (const auto& [name, facts] : features_) {
      named.emplace_back(name, &facts);
    }
    const NodeFacts facts = ProjectNode(node_, master.nodes);
    std::vector<std::string> gone = SilentOthers("n", facts, named);
    std::erase_if(gone, [this](const std::string& name) { return !deleted_.contains(name); });
    return DecideLabels("n", facts, named, rules, ApplyRuleSet(rule_set_, named, master), gone,
                        foreign_gpus);
  }
  // The NodeFeature object that Gantry's worker writes.
  LabelledNode& Worker(Json labels, const Json& features = Json::object()) {
    const FeatureReading reading{.needs = rule_set_.needs};
    features_["n"] = ProjectFeatures(
        {{"metadata",
          {{"name", "n"},
           {"labels", {{names::kNfdNodeName, "n"}}},
           {"annotations", {{names::kNfdWorkerVersion, policy::OurWorkerVersion()}}}}},
         {"spec", {{"labels", std::move(labels)}, {"features", features}}}},
        reading);
    return *this;
  }
  LabelledNode& Rules(const std::string& json) {
    rule_set_ = MakeRuleSet({{"object", ParseJson(json).value()}});
    EXPECT_THAT(rule_set_.mistakes, testing::IsEmpty());
    return *this;
  }
  std::string Annotation(const char* key) {
    return node_["metadata"]["annotations"].value(key, "");
  }
  // Decides, applies as the API server would, and checks that a second round has nothing to do.
  Labels Round() {
    const NodeChange change = Decide();
    node_.merge_patch(PatchOf(change, node_["spec"].value("taints", Json::array())));
    node_.merge_patch(ResourcePatchOf(change));
    EXPECT_TRUE(Decide().empty());
    return node_["metadata"]["labels"].get<Labels>();
  }
  Json& node() { return node_; }
  LabelRules rules;
  MasterConfig master;
  std::optional<bool> foreign_gpus;

 private:
  RuleSet rule_set_;
  Json node_;
  std::map<std::string, FeatureFacts> features_;
  std::set<std::string> deleted_;
};

}  // namespace gantry::gpu_operator
