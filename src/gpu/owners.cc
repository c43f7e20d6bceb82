// SPDX-License-Identifier: Apache-2.0
// Which GPUs of a node may containers get, and who has the others? The words of the file by which
// the programs of a node tell each other.
#include "gpu/owners.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace gantry::gpu {
namespace {

constexpr char kVersion[] = "v1";

}  // namespace

std::string OwnersText(const Owners& owners, const std::string& boot_id) {
  Json gpus = Json::object();
  for (const auto& [uuid, owner] : owners) {
    gpus[uuid] = {
        {"program", owner.program}, {"reason", owner.reason}, {"exclusive", owner.exclusive}};
  }
  return Json{{"version", kVersion}, {"boot", boot_id}, {"gpus", gpus}}.dump() + "\n";
}

Result<Owners> ParseOwners(std::string_view text, const std::string& boot_id) {
  TRY_ASSIGN(const Json json, ParseJson(text));
  if (const std::string version = TextAt(json, "version"); version != kVersion) {
    return Fail(ErrorKind::kInvalid, format("version: it is '{}', not {}", version, kVersion));
  }
  const Json* gpus = At(json, {"gpus"});
  if (gpus == nullptr || !gpus->is_object()) {
    return Fail(ErrorKind::kInvalid, "gpus: not an object");
  }
  Owners owners;
  if (TextAt(json, "boot") != boot_id) {
    return owners;
  }
  for (const auto& [uuid, entry] : gpus->items()) {
    Owner owner{.program = TextAt(entry, "program"),
                .reason = TextAt(entry, "reason"),
                .exclusive = BoolAt(entry, "exclusive", false)};
    if (owner.program.empty()) {
      return Fail(ErrorKind::kInvalid, format("gpus.{}.program: no string", uuid));
    }
    owners.emplace(uuid, std::move(owner));
  }
  return owners;
}

Result<Owners> WithOwned(Owners before, const std::string& program, const Owners& mine) {
  std::erase_if(before, [&](const auto& one) { return one.second.program == program; });
  for (const auto& [uuid, owner] : mine) {
    const auto [other, added] = before.emplace(uuid, owner);
    if (!added) {
      return Fail(ErrorKind::kConflict, format("take GPU {}: {} has it: {}", uuid,
                                               other->second.program, other->second.reason));
    }
    other->second.program = program;
  }
  return before;
}

Owners OwnedBy(const Owners& owners, std::string_view program) {
  Owners owned = owners;
  std::erase_if(owned, [&](const auto& one) { return one.second.program != program; });
  return owned;
}

bool AnyExclusive(const Owners& owners) {
  return std::ranges::any_of(owners, [](const auto& one) { return one.second.exclusive; });
}

}  // namespace gantry::gpu
