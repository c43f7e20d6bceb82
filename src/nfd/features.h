// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"

// NodeFeatureRules (nfd.k8s-sigs.io/v1alpha1): from what a node's agents say about it to labels,
// annotations, extended resources and taints. Values in, values out.
namespace gantry::nfd {

using Elements = std::map<std::string, std::string, std::less<>>;

// `spec.features` of a NodeFeature: by "<domain>.<feature>" names that are there or not, names with
// values, and things with attributes.
struct Features {
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> flags;
  std::map<std::string, Elements, std::less<>> attributes;
  std::map<std::string, std::vector<Elements>, std::less<>> instances;
  bool operator==(const Features&) const = default;
  [[nodiscard]] bool empty() const {
    return flags.empty() && attributes.empty() && instances.empty();
  }
};

// What is of another shape is left out.
Features FeaturesFrom(const Json& spec_features);
Json ToJson(const Features& features);

// The second over the first: flags and attributes join, the second's value wins; instances stand
// one after the other.
void Add(Features& to, const Features& from);

// The parts of one feature that some rule can see.
struct Need {
  bool all = false;             // every element, every attribute of instances
  bool all_attributes = false;  // of instances
  std::set<std::string, std::less<>> names;
  bool operator==(const Need&) const = default;
};
using Needs = std::map<std::string, Need, std::less<>>;

// Whether what was kept for `have` is enough for `wanted`.
bool Covers(const Needs& have, const Needs& wanted);
// Only what is needed. A needed feature stays even if none of its elements does: rules tell "no
// such element" from "no such feature".
Features Keep(const Features& features, const Needs& needs);

}  // namespace gantry::nfd
