// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"

// NodeFeatureRules (nfd.k8s-sigs.io/v1alpha1): they turn the features that a node's agents report
// into labels, annotations, extended resources and taints. Values in, values out.
namespace gantry::nfd {

using Elements = std::map<std::string, std::string, std::less<>>;

// `spec.features` of a NodeFeature, by "<domain>.<feature>": flags (names alone), attributes (names
// with values) and instances (things with attributes).
struct Features {
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> flags;
  std::map<std::string, Elements, std::less<>> attributes;
  std::map<std::string, std::vector<Elements>, std::less<>> instances;
  bool operator==(const Features&) const = default;
  [[nodiscard]] bool empty() const {
    return flags.empty() && attributes.empty() && instances.empty();
  }
};

// Entries of another shape are left out.
Features FeaturesFrom(const Json& spec_features);
Json ToJson(const Features& features);

// Adds `from` to `to`: flags and attributes are merged, where a value of `from` wins; instances are
// appended.
void Add(Features& to, const Features& from);

// The parts of one feature that at least one rule reads.
struct Need {
  bool all = false;             // every element, every attribute of instances
  bool all_attributes = false;  // of instances
  std::set<std::string, std::less<>> names;
  bool operator==(const Need&) const = default;
};
using Needs = std::map<std::string, Need, std::less<>>;

// Whether the parts kept for `have` are enough for `wanted`.
bool Covers(const Needs& have, const Needs& wanted);
// Keeps only the needed parts. A needed feature is kept even if none of its elements is: rules
// distinguish "no such element" from "no such feature".
Features Keep(const Features& features, const Needs& needs);

}  // namespace gantry::nfd
