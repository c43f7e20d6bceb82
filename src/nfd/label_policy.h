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

// Which keys and values may node features write on a node? The right to write a NodeFeature must
// not include labels that scheduling and admission trust.
namespace gantry::nfd {

// Kubernetes' own rules: a prefix that is a DNS name, a slash, a name of at most 63 characters; a
// key without a prefix does not count.
bool IsLabelKey(std::string_view key);
// A value of a label; may be empty.
bool IsLabelValue(std::string_view value);
// A whole number as a Kubernetes quantity: "4", "16Gi", "2k" (2000). Nothing if it is not one.
std::optional<uint64_t> WholeQuantity(std::string_view value);

// A key without a prefix gets "feature.node.kubernetes.io/".
std::string WithPrefix(std::string_view key);
// All of them; if a key is given with and without the prefix, the one with it wins.
Elements WithPrefixes(const Elements& elements);
// The reverse, as NFD's ownership annotations are written.
std::string WithoutPrefix(std::string_view key);

// What NFD's master is configured to allow beyond the built-in rule.
struct LabelPolicy {
  std::vector<std::string> deny = {};   // namespaces; with a leading '*': all that end so
  std::vector<std::string> allow = {};  // exceptions to `deny`, by their full names
  // What the part of a label's key after its prefix must match; null: anything.
  std::shared_ptr<const re2::RE2> white_list = {};
};
// For a configuration's labelWhiteList; null if it is empty. kInvalid if it is not a regular
// expression.
Result<std::shared_ptr<const re2::RE2>> ParseWhiteList(const std::string& text);

// Refuses Kubernetes' domains except feature.node.kubernetes.io, profile.node.kubernetes.io and
// their subdomains; `key` has a prefix.
bool MayBeLabel(std::string_view key, const LabelPolicy& policy = {});
// For annotations, extended resources and taints: refuses Kubernetes' domains except
// feature.node.kubernetes.io and its subdomains.
bool MayBeOther(std::string_view key);
// Checks the key, and Kubernetes' rules for a taint.
bool MayBeTaint(std::string_view key, std::string_view value, std::string_view effect);

}  // namespace gantry::nfd
