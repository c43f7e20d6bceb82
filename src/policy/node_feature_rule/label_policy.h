// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Which keys and values may node features bring to a node? Whoever may write a NodeFeature must not
// be able to write labels that scheduling and admission trust.
namespace gantry::node_feature_rule {

// Kubernetes' own rules: a prefix that is a DNS name, a slash, a name of at most 63 characters; a
// key without a prefix is none here.
bool IsLabelKey(std::string_view key);
// A value of a label; may be empty.
bool IsLabelValue(std::string_view value);
// A whole number as a Kubernetes quantity: "4", "16Gi", "2k" (2000). Nothing for another text.
std::optional<uint64_t> WholeQuantity(std::string_view value);

// A key without a prefix gets "feature.node.kubernetes.io/".
std::string WithPrefix(std::string_view key);
// The reverse, as NFD's ownership annotations are written.
std::string WithoutPrefix(std::string_view key);

// Namespaces beside the built-in rule, as NFD's master is configured: "vendor.com", or
// "*.vendor.com" for all below it.
struct Namespaces {
  std::vector<std::string> deny;
  std::vector<std::string> allow;
  bool operator==(const Namespaces&) const = default;
};

// Kubernetes' domains are refused but for feature.node.kubernetes.io, profile.node.kubernetes.io
// and what is below them; `key` has a prefix.
bool MayBeLabel(std::string_view key, const Namespaces& namespaces = {});
// Annotations, extended resources and taints: no domain of Kubernetes but
// feature.node.kubernetes.io and what is below it.
bool MayBeOther(std::string_view key);

}  // namespace gantry::node_feature_rule
