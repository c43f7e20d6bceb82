// SPDX-License-Identifier: Apache-2.0

// Which value did a user mean by one that the chart does not have? Mostly a misspelled name, or one
// at the wrong place: one level too high, or in an operand's section instead of the common one.

#include "operator/value_names.h"

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace gantry::gpu_operator {
namespace {

void Collect(const Json& tree, const std::string& path, std::vector<std::string>& names) {
  if (tree.is_object()) {
    for (const auto& [key, below] : tree.items()) {
      const std::string name = path.empty() ? key : format("{}.{}", path, key);
      names.push_back(name);
      Collect(below, name, names);
    }
  } else if (tree.is_array() && !tree.empty()) {
    Collect(tree.front(), path + "[]", names);
  }
}

std::string_view LastOf(std::string_view name) { return name.substr(name.rfind('.') + 1); }
std::string_view SectionOf(std::string_view name) { return name.substr(0, name.find('.')); }
std::string_view ParentOfValue(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? "" : name.substr(0, dot);
}

bool Misspelled(std::string_view name, std::string_view known) {
  return EditDistance(Lower(name), Lower(known)) <= std::max<size_t>(1, name.size() / 3);
}

// How well a known value matches; lower is better.
size_t Unlikeness(std::string_view name, std::string_view known) {
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  constexpr size_t kElsewhere = 1000;
  const bool same_key = LastOf(name) == LastOf(known);
  if (ParentOfValue(name) == ParentOfValue(known)) {
    return Misspelled(LastOf(name), LastOf(known)) ? EditDistance(LastOf(name), LastOf(known))
                                                   : kNone;
  }
  if (same_key && SectionOf(name) == SectionOf(known)) {
    return kElsewhere / 2 + EditDistance(name, known);
  }
  if (same_key && SectionOf(known) == "daemonsets") {
    return kElsewhere;
  }
  return same_key && Misspelled(ParentOfValue(name), ParentOfValue(known))
             ? kElsewhere / 4 + EditDistance(name, known)
             : kNone;
}

}  // namespace

Result<std::vector<std::string>> ParseNames(std::string_view text) {
  if (text.empty()) {
    return std::vector<std::string>();
  }
  TRY_ASSIGN(const Json list, ParseJson(text));
  const auto is_text = [](const Json& item) { return item.is_string(); };
  if (!list.is_array() || !std::ranges::all_of(list, is_text)) {
    return Fail(ErrorKind::kInvalid, "must be a list of names in JSON");
  }
  return list.get<std::vector<std::string>>();
}

std::vector<std::string> KnownValues(const Json& file) {
  std::vector<std::string> names;
  if (const auto known = file.find("known"); known != file.end()) {
    Collect(*known, "", names);
  }
  return names;
}

std::string NearestValue(std::string_view name, const std::vector<std::string>& known) {
  size_t least = std::numeric_limits<size_t>::max();
  std::string nearest;
  for (const std::string& candidate : known) {
    if (const size_t unlikeness = Unlikeness(name, candidate); unlikeness < least) {
      least = unlikeness;
      nearest = candidate;
    }
  }
  return nearest;
}

std::vector<std::string> WithNearest(const std::vector<std::string>& names,
                                     const std::vector<std::string>& known) {
  std::vector<std::string> texts;
  for (const std::string& name : names) {
    const std::string nearest = NearestValue(name, known);
    texts.push_back(nearest.empty() ? name : format("{} ({}?)", name, nearest));
  }
  return texts;
}

}  // namespace gantry::gpu_operator
