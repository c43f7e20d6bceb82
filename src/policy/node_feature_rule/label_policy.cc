// SPDX-License-Identifier: Apache-2.0
// May this key be written on a node because a node's agent, or a rule, asks for it? NFD's rule, and
// k8s.io beside kubernetes.io.
#include "policy/node_feature_rule/label_policy.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::node_feature_rule {
namespace {

constexpr size_t kLongestName = 63;
constexpr size_t kLongestPrefix = 253;

bool IsPlain(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool IsNamePart(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && IsPlain(text.front()) &&
         IsPlain(text.back()) && std::ranges::all_of(text, [](char c) {
           return IsPlain(c) || c == '-' || c == '_' || c == '.';
         });
}

bool IsDnsName(std::string_view text) {
  if (text.empty() || text.size() > kLongestPrefix) {
    return false;
  }
  const std::vector<std::string> parts = Split(text, '.');
  return std::ranges::all_of(parts, [](const std::string& part) {
    return !part.empty() && part.front() != '-' && part.back() != '-' &&
           std::ranges::all_of(part, [](char c) {
             return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
           });
  });
}

bool IsUnder(std::string_view domain, std::string_view parent) {
  return domain == parent || (domain.size() > parent.size() && domain.ends_with(parent) &&
                              domain[domain.size() - parent.size() - 1] == '.');
}

bool IsListed(std::string_view domain, const std::vector<std::string>& list) {
  return std::ranges::any_of(list, [&](const std::string& entry) {
    return entry.starts_with("*.") ? domain.ends_with(std::string_view(entry).substr(1))
                                   : domain == entry;
  });
}

bool IsKubernetes(std::string_view domain) {
  return IsUnder(domain, "kubernetes.io") || IsUnder(domain, "k8s.io");
}

std::string_view DomainOf(std::string_view key) { return key.substr(0, key.find('/')); }

}  // namespace

bool IsLabelKey(std::string_view key) {
  const size_t slash = key.find('/');
  return slash != std::string_view::npos && IsDnsName(key.substr(0, slash)) &&
         IsNamePart(key.substr(slash + 1));
}

bool IsLabelValue(std::string_view value) { return value.empty() || IsNamePart(value); }

std::optional<uint64_t> WholeQuantity(std::string_view value) {
  static constexpr std::pair<std::string_view, int> kSuffixes[] = {
      {"", 0},    {"k", 1},   {"M", 2},   {"G", 3},   {"T", 4},   {"P", 5},  {"E", 6},
      {"Ki", -1}, {"Mi", -2}, {"Gi", -3}, {"Ti", -4}, {"Pi", -5}, {"Ei", -6}};
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const auto* suffix = std::ranges::find(
      kSuffixes, std::string_view(end, static_cast<size_t>(value.data() + value.size() - end)),
      &std::pair<std::string_view, int>::first);
  if (error != std::errc() || suffix == std::end(kSuffixes)) {
    return std::nullopt;
  }
  const uint64_t factor = suffix->second < 0 ? 1024 : 1000;
  for (int i = std::abs(suffix->second); i > 0; --i) {
    if (number > std::numeric_limits<uint64_t>::max() / factor) {
      return std::nullopt;
    }
    number *= factor;
  }
  return number;
}

std::string WithPrefix(std::string_view key) {
  return key.find('/') == std::string_view::npos ? std::string(names::kFeaturePrefix).append(key)
                                                 : std::string(key);
}

std::string WithoutPrefix(std::string_view key) {
  const bool ours = key.starts_with(names::kFeaturePrefix);
  return std::string(key.substr(ours ? std::string_view(names::kFeaturePrefix).size() : 0));
}

bool MayBeLabel(std::string_view key, const Namespaces& namespaces) {
  if (!IsLabelKey(key)) {
    return false;
  }
  const std::string_view domain = DomainOf(key);
  if (IsUnder(domain, "feature.node.kubernetes.io") ||
      IsUnder(domain, "profile.node.kubernetes.io")) {
    return true;
  }
  const bool denied = IsKubernetes(domain) || IsListed(domain, namespaces.deny);
  return !denied || IsListed(domain, namespaces.allow);
}

bool MayBeOther(std::string_view key) {
  if (!IsLabelKey(key)) {
    return false;
  }
  const std::string_view domain = DomainOf(key);
  return IsUnder(domain, "feature.node.kubernetes.io") || !IsKubernetes(domain);
}

}  // namespace gantry::node_feature_rule
