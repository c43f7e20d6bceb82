// SPDX-License-Identifier: Apache-2.0
// May a node's agent or a rule write this key on a node? By NFD's rule, for k8s.io as for
// kubernetes.io.
#include "nfd/label_policy.h"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::nfd {
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

bool IsDenied(std::string_view domain, const std::vector<std::string>& denied) {
  return std::ranges::any_of(denied, [&](std::string_view entry) {
    const size_t end = std::min(entry.find_first_not_of('*'), entry.size());
    return end > 0 ? domain.ends_with(entry.substr(end)) : domain == entry;
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

Elements WithPrefixes(const Elements& elements) {
  Elements prefixed;
  for (const auto& [key, value] : elements) {
    const std::string full = WithPrefix(key);
    if (full == key || !elements.contains(full)) {
      prefixed.emplace(full, value);
    }
  }
  return prefixed;
}

Result<std::shared_ptr<const re2::RE2>> ParseWhiteList(const std::string& text) {
  if (text.empty()) {
    return nullptr;
  }
  auto pattern = std::make_shared<const RE2>(text, RE2::Quiet);
  if (!pattern->ok()) {
    return Fail(ErrorKind::kInvalid, format("labelWhiteList: \"{}\" is no regular expression: {}",
                                            text, pattern->error()));
  }
  return pattern;
}

bool MayBeLabel(std::string_view key, const LabelPolicy& policy) {
  if (!IsLabelKey(key)) {
    return false;
  }
  const std::string_view domain = DomainOf(key);
  const std::string_view name = key.substr(domain.size() + 1);
  const bool features = IsUnder(domain, "feature.node.kubernetes.io") ||
                        IsUnder(domain, "profile.node.kubernetes.io");
  const bool denied = (IsKubernetes(domain) && !features) || IsDenied(domain, policy.deny);
  return (!denied || std::ranges::find(policy.allow, domain) != policy.allow.end()) &&
         (policy.white_list == nullptr || RE2::PartialMatch(name, *policy.white_list));
}

bool MayBeOther(std::string_view key) {
  if (!IsLabelKey(key)) {
    return false;
  }
  const std::string_view domain = DomainOf(key);
  return IsUnder(domain, "feature.node.kubernetes.io") || !IsKubernetes(domain);
}

bool MayBeTaint(std::string_view key, std::string_view value, std::string_view effect) {
  return MayBeOther(key) && IsLabelValue(value) &&
         (effect == "NoSchedule" || effect == "PreferNoSchedule" || effect == "NoExecute");
}

}  // namespace gantry::nfd
