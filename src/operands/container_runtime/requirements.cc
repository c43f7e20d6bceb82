// SPDX-License-Identifier: Apache-2.0
// Does a node meet an image's requirements? The expressions are those of NVIDIA's base images; a
// container that would fail at its first CUDA call is rejected with the reason instead.
#include "operands/container_runtime/requirements.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace gantry::container_runtime {
namespace {

constexpr std::string_view kPrefix = "NVIDIA_REQUIRE_";
constexpr std::array<std::string_view, 6> kOperators = {"!=", "<=", ">=", "=", "<", ">"};
constexpr std::array<std::string_view, 4> kProperties = {"cuda", "driver", "brand", "arch"};

// -1, 0, 1 by the numbers between the dots; a missing part is 0. Nothing if either is not a
// version.
std::optional<int> CompareVersions(std::string_view a, std::string_view b) {
  const std::vector<std::string> left = Split(a, '.');
  const std::vector<std::string> right = Split(b, '.');
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const auto x = i < left.size() ? ParseInt(left[i]) : Result<long long>(0);
    const auto y = i < right.size() ? ParseInt(right[i]) : Result<long long>(0);
    if (!x || !y) {
      return std::nullopt;
    }
    if (*x != *y) {
      return *x < *y ? -1 : 1;
    }
  }
  return 0;
}

// "NVIDIA-RTX" -> "nvidiartx": images write a brand as one word.
std::string Brand(std::string_view text) {
  std::string brand = Lower(text);
  std::erase(brand, '-');
  return brand;
}

Result<bool> TermHolds(std::string_view term, const RequirementFacts& facts) {
  const size_t at = term.find_first_of("!<>=");
  const std::string_view rest = at == std::string_view::npos ? "" : term.substr(at);
  const auto op = std::ranges::find_if(
      kOperators, [&](std::string_view each) { return rest.starts_with(each); });
  if (op == kOperators.end() || rest.size() == op->size()) {
    return Fail(ErrorKind::kInvalid, format("\"{}\" is not <property><operator><value>", term));
  }
  const std::string property = Lower(term.substr(0, at));
  const std::string_view wanted = rest.substr(op->size());
  const auto fact = facts.find(property);
  if (fact == facts.end() || std::ranges::find(kProperties, property) == kProperties.end()) {
    return true;
  }
  if (property == "brand") {
    const bool same = Brand(fact->second) == Brand(wanted);
    if (*op != "=" && *op != "!=") {
      return Fail(ErrorKind::kInvalid, format("\"{}\" puts brands in an order", term));
    }
    return (*op == "=") == same;
  }
  const auto order = CompareVersions(fact->second, wanted);
  if (!order) {
    return Fail(ErrorKind::kInvalid, format("\"{}\" has no version to compare with", term));
  }
  return *op == "="    ? *order == 0
         : *op == "!=" ? *order != 0
         : *op == "<"  ? *order < 0
         : *op == "<=" ? *order <= 0
         : *op == ">"  ? *order > 0
                       : *order >= 0;
}

Result<bool> Holds(const std::string& text, const RequirementFacts& facts) {
  bool any = false;
  bool empty = true;
  for (const std::string& alternative : Split(text, ' ')) {
    bool all = !alternative.empty();
    for (const std::string& term : Split(alternative, ',')) {
      empty = empty && term.empty();
      if (!term.empty()) {
        TRY_ASSIGN(const bool holds, TermHolds(term, facts));
        all = all && holds;
      }
    }
    any = any || all;
  }
  return any || empty;
}

std::string Known(const RequirementFacts& facts) {
  std::vector<std::string> parts;
  parts.reserve(facts.size());
  for (const auto& [name, value] : facts) {
    parts.push_back(format("{} {}", name, value));
  }
  return parts.empty() ? "nothing is known of it" : Join(parts, ", ");
}

}  // namespace

std::vector<Requirement> RequirementsOf(const std::vector<std::string>& environment) {
  std::map<std::string, std::string> found;
  std::string cuda_version;
  bool disabled = false;
  for (const std::string& entry : environment) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos) {
      continue;
    }
    const std::string name = entry.substr(0, equals);
    const std::string value = entry.substr(equals + 1);
    if (name == "NVIDIA_DISABLE_REQUIRE") {
      disabled = ParseBool(value).value_or(false);
    } else if (name == "CUDA_VERSION") {
      cuda_version = value;
    } else if (name.starts_with(kPrefix) && !name.starts_with("NVIDIA_REQUIRE_JETPACK")) {
      found[name] = value;
    }
  }
  if (disabled) {
    return {};
  }
  if (!cuda_version.empty() && !found.contains("NVIDIA_REQUIRE_CUDA")) {
    const std::vector<std::string> parts = Split(cuda_version, '.');
    const bool version = !parts.empty() && std::ranges::all_of(parts, [](const std::string& part) {
      return ParseInt(part).has_value();
    });
    if (version) {
      found["CUDA_VERSION"] =
          format("cuda>={}.{}", parts[0], parts.size() > 1 ? parts[1] : std::string("0"));
    }
  }
  std::vector<Requirement> requirements;
  requirements.reserve(found.size());
  for (auto& [name, text] : found) {
    requirements.push_back({name, text});
  }
  return requirements;
}

Status CheckRequirements(const std::vector<Requirement>& requirements,
                         const RequirementFacts& facts) {
  for (const Requirement& requirement : requirements) {
    const auto holds = Holds(requirement.text, facts);
    if (!holds) {
      return std::unexpected(holds.error().In("read " + requirement.name));
    }
    if (!*holds) {
      return Fail(ErrorKind::kUnsupported,
                  format("meet {}={}: the node has {} (NVIDIA_DISABLE_REQUIRE=true starts the "
                         "container nevertheless)",
                         requirement.name, requirement.text, Known(facts)));
    }
  }
  return {};
}

}  // namespace gantry::container_runtime
