// SPDX-License-Identifier: Apache-2.0

// What does an administrator want to happen to the holders of a GPU whose MIG layout is to change?
// The policy says it for all nodes, an annotation for one; both have the same fields, which are
// called as those of driver upgrades.

#include "policy/gpu_holders.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "policy/names.h"
#include "policy/spec_section.h"

namespace gantry::policy {
namespace {

constexpr char kHolderAction[] = "action";
constexpr std::array kHolderActions =
    std::to_array<std::string_view>({"fail", "wait", "evict", "delete"});
constexpr std::array kHolderFields =
    std::to_array<std::string_view>({kHolderAction, "timeoutSeconds", "force", "deleteEmptyDir"});

}  // namespace

std::string_view Name(HolderAction action) {
  return kHolderActions.at(static_cast<size_t>(action));
}

GpuHoldersSpec ReadGpuHolders(const SpecSection& section, GpuHoldersSpec spec) {
  std::string action(Name(spec.action));
  section.OneOf(kHolderAction,
                {kHolderActions[0], kHolderActions[1], kHolderActions[2], kHolderActions[3]},
                action);
  spec.action =
      static_cast<HolderAction>(std::ranges::find(kHolderActions, action) - kHolderActions.begin());
  ReadPodRemoval(section, spec.removal);
  return spec;
}

Result<GpuHoldersSpec> GpuHoldersOfNode(std::string_view annotation,
                                        const GpuHoldersSpec& of_policy) {
  const std::string name = format("annotation {}", names::kMigGpuHolders);
  const std::string_view text = Trim(annotation);
  Json fields = {{kHolderAction, text}};
  if (text.starts_with('{')) {
    auto parsed = ParseJson(text);
    if (!parsed.has_value()) {
      return std::unexpected(parsed.error().In(name));
    }
    fields = *std::move(parsed);
  }
  std::optional<Error> mistake;
  const SpecSection section(&fields, name, &mistake);
  const GpuHoldersSpec spec = ReadGpuHolders(section, of_policy);
  for (const auto& [key, value] : fields.items()) {
    if (std::ranges::find(kHolderFields, key) == kHolderFields.end()) {
      section.Wrong(key, format("no such field; there are {}",
                                Join({kHolderFields.begin(), kHolderFields.end()}, ", ")));
    }
  }
  if (mistake.has_value()) {
    return std::unexpected(*std::move(mistake));
  }
  return spec;
}

}  // namespace gantry::policy
