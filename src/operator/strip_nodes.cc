// SPDX-License-Identifier: Apache-2.0

// How is what the operator wrote removed from Nodes?

#include "operator/strip_nodes.h"

#include <utility>
#include <vector>

#include "base/log.h"
#include "operator/ignore_absent.h"
#include "operator/strip.h"

namespace gantry::gpu_operator {
namespace {

// A node whose taints changed meanwhile is read again.
Status StripOne(kube::Client& client, const std::string& name, const std::string& instance,
                Json patch) {
  constexpr int kAttempts = 3;
  for (int attempt = 1;; ++attempt) {
    const auto patched = client.MergePatch(kube::kinds::kNode, {"", name}, patch);
    if (patched.has_value()) {
      return {};
    }
    if (patched.error().kind != ErrorKind::kConflict || attempt == kAttempts) {
      return std::unexpected(patched.error());
    }
    TRY_ASSIGN(const Json node, client.Get(kube::kinds::kNode, {"", name}));
    patch = StripNode(node, instance);
    if (patch.is_null()) {
      return {};
    }
  }
}

}  // namespace

Status StripNodes(kube::Client& client, const std::string& instance) {
  std::vector<std::pair<std::string, Json>> patches;
  std::vector<std::pair<std::string, Json>> resources;
  std::vector<std::pair<std::string, Json>> conditions;
  const auto listed = client.List(kube::kinds::kNode, {}, [&](const Json& node) {
    const std::string name = TextAt(node, "metadata.name");
    if (Json patch = StripResources(node, instance); !patch.is_null()) {
      resources.emplace_back(name, std::move(patch));
    }
    if (Json patch = StripNode(node, instance); !patch.is_null()) {
      patches.emplace_back(name, std::move(patch));
    }
    if (Json patch = StripConditions(node); !patch.is_null()) {
      conditions.emplace_back(name, std::move(patch));
    }
  });
  if (!listed.has_value()) {
    return std::unexpected(listed.error());
  }
  // Their record is removed with the rest.
  for (const auto& [name, patch] : resources) {
    const auto patched =
        client.MergePatch(kube::kinds::kNode, {"", name}, patch, kube::Part::kStatus);
    TRY(IgnoreAbsent(patched.has_value() ? Status{} : Status(std::unexpected(patched.error()))));
  }
  for (const auto& [name, patch] : patches) {
    TRY(IgnoreAbsent(StripOne(client, name, instance, patch)));
  }
  for (const auto& [name, patch] : conditions) {
    const auto patched =
        client.JsonPatch(kube::kinds::kNode, {"", name}, patch, kube::Part::kStatus);
    if (!patched.has_value()) {
      log::Warning("{}", patched.error().message);  // a leftover condition is harmless
    }
  }
  log::Info("{} nodes no longer have labels of the operator", patches.size());
  return {};
}

}  // namespace gantry::gpu_operator
