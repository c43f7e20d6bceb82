// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "nfd/features.h"

namespace re2 {
class RE2;
}

// Which keys and values may node features bring to a node? Whoever may write a NodeFeature must not
// be able to write labels that scheduling and admission trust.
namespace gantry::nfd {

// Kubernetes' own rules: a prefix that is a DNS name, a slash, a name of at most 63 characters; a
// key without a prefix is none here.
bool IsLabelKey(std::string_view key);
// A value of a label; may be empty.
bool IsLabelValue(std::string_view value);
// A whole number as a Kubernetes quantity: "4", "16Gi", "2k" (2000). Nothing for another text.
std::optional<uint64_t> WholeQuantity(std::string_view value);

// A key without a prefix gets "feature.node.kubernetes.io/".
std::string WithPrefix(std::string_view key);
// All of them; of a key that is there with and without the prefix, the one with it counts.
Elements WithPrefixes(const Elements& elements);
// The reverse, as NFD's ownership annotations are written.
std::string WithoutPrefix(std::string_view key);

// What NFD's master is configured to let through beside the built-in rule.
struct LabelPolicy {
  std::vector<std::string> deny = {};   // namespaces; with a leading '*': all that end so
  std::vector<std::string> allow = {};  // of the denied ones, by their whole names
  // What the part of a label's key after its prefix must match; null: anything.
  std::shared_ptr<const re2::RE2> white_list = {};
};
// For a configuration's labelWhiteList; null for an empty text. kInvalid if it is no regular
// expression.
Result<std::shared_ptr<const re2::RE2>> ParseWhiteList(const std::string& text);

// Kubernetes' domains are refused but for feature.node.kubernetes.io, profile.node.kubernetes.io
// and what is below them; `key` has a prefix.
bool MayBeLabel(std::string_view key, const LabelPolicy& policy = {});
// Annotations, extended resources and taints: no domain of Kubernetes but
// feature.node.kubernetes.io and what is below it.
bool MayBeOther(std::string_view key);
// Besides the key, what Kubernetes asks of a taint.
bool MayBeTaint(std::string_view key, std::string_view value, std::string_view effect);

}  // namespace gantry::nfd
