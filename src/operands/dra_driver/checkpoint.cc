// SPDX-License-Identifier: Apache-2.0
// What is in the checkpoint, and is it what its writer wrote? Checksums are of the bytes on the
// disk: a field that this version does not know changes nothing. v1 is for versions of NVIDIA's
// driver that know no other; it has the completed claims only.
#include "operands/dra_driver/checkpoint.h"

#include <array>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "operands/dra_driver/json_members.h"
#include "policy/names.h"

namespace gantry::dra_driver {
namespace {

using kubelet::dra::PreparedDevice;
using Members = std::map<std::string, std::string_view>;

std::string_view Member(const Members& members, const char* name) {
  const auto found = members.find(name);
  return found == members.end() || found->second == "null" ? "" : found->second;
}

std::string TextOf(std::string_view json) {
  const auto value = ParseJson(json);
  return value.has_value() && value->is_string() ? value->get<std::string>() : "";
}

std::unexpected<Error> Damaged(std::string_view what) {
  return Fail(ErrorKind::kInvalid, format("checkpoint failed checksum verification; {}", what));
}

// The checksum that the document says, against that of `text`.
Status Check(std::string_view said, const std::string& text, const char* version) {
  const std::string computed = std::to_string(Checksum(text));
  return said == computed ? Status{}
                          : Damaged(format("{}: the file says {}, its content gives {}", version,
                                           said, computed));
}

// `object` with the number of its member "checksum", whose text is `said`, replaced by 0.
std::string WithoutChecksum(std::string_view object, std::string_view said) {
  const auto at = static_cast<size_t>(said.data() - object.data());
  return std::string(object.substr(0, at)) + "0" + std::string(object.substr(at + said.size()));
}

// Of the groups of prepared devices: {"devices":[{"gpu":{...,"device":D},"mig":null}]}.
std::vector<PreparedDevice> DevicesIn(std::string_view prepared) {
  std::vector<PreparedDevice> devices;
  const auto groups = ParseJson(prepared);
  if (!groups.has_value() || !groups->is_array()) {
    return devices;
  }
  for (const Json& group : *groups) {
    for (const Json& one : ListAt(group, "devices")) {
      for (const char* type : {"gpu", "mig", "vfio"}) {
        const Json* device = At(one, {type, "device"});
        if (device != nullptr && device->is_object()) {
          devices.push_back({.requests = TextsAt(*device, "Requests"),
                             .pool = TextAt(*device, "PoolName"),
                             .device = TextAt(*device, "DeviceName"),
                             .cdi_ids = TextsAt(*device, "CDIDeviceIDs")});
        }
      }
    }
  }
  return devices;
}

Result<ClaimEntry> ParseEntry(std::string_view text, bool is_v1) {
  TRY_ASSIGN(const Members members, MembersOf(text));
  ClaimEntry entry{
      .completed = is_v1 || TextOf(Member(members, "checkpointState")) == "PrepareCompleted",
      .status = std::string(Member(members, "status")),
      .prepared = std::string(Member(members, "preparedDevices")),
      .name = TextOf(Member(members, "name")),
      .ns = TextOf(Member(members, "namespace"))};
  entry.devices = DevicesIn(entry.prepared);
  entry.reserved = ReservedIn(ParseJson(entry.status).value_or(Json::object()));
  return entry;
}

Result<Checkpoint> ParseVersion(std::string_view version, bool is_v1) {
  TRY_ASSIGN(const Members members, MembersOf(version));
  Checkpoint checkpoint{.claims = {}, .boot_id = TextOf(Member(members, "nodeBootID"))};
  const std::string_view claims = Member(members, "preparedClaims");
  if (claims.empty()) {
    return checkpoint;
  }
  TRY_ASSIGN(const Members by_uid, MembersOf(claims));
  for (const auto& [uid, text] : by_uid) {
    TRY_ASSIGN(checkpoint.claims[uid], ParseEntry(text, is_v1));
  }
  return checkpoint;
}

// Appends `"name":value`, if there is a value.
void Add(std::string& object, const char* name, const std::string& value) {
  if (!value.empty()) {
    object += format("{}\"{}\":{}", object.ends_with('{') ? "" : ",", name, value);
  }
}

std::string QuotedIfAny(const std::string& text) { return text.empty() ? "" : GoString(text); }

std::string EntryText(const ClaimEntry& entry, bool is_v1) {
  std::string text = "{";
  if (!is_v1) {
    Add(text, "checkpointState", entry.completed ? "\"PrepareCompleted\"" : "\"PrepareStarted\"");
  }
  Add(text, "status", entry.status);
  Add(text, "preparedDevices", entry.prepared);
  if (!is_v1) {
    Add(text, "name", QuotedIfAny(entry.name));
    Add(text, "namespace", QuotedIfAny(entry.ns));
  }
  return text + "}";
}

std::string ClaimsText(const Checkpoint& checkpoint, bool is_v1) {
  std::string claims = "{";
  for (const auto& [uid, entry] : checkpoint.claims) {
    if (!is_v1 || entry.completed) {
      claims += (claims.size() > 1 ? "," : "") + GoString(uid) + ":" + EntryText(entry, is_v1);
    }
  }
  return claims == "{" ? "" : claims + "}";
}

}  // namespace

uint32_t Checksum(std::string_view text) {
  uint32_t hash = 2166136261U;
  const auto add = [&hash](std::string_view part) {
    for (const char c : part) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    }
  };
  add("([]uint8)[");
  for (size_t at = 0; at < text.size(); ++at) {
    add(at == 0 ? "" : " ");
    add(std::to_string(static_cast<unsigned char>(text[at])));
  }
  add("]");
  return hash;
}

std::set<std::string> ReservedIn(const Json& status) {
  std::set<std::string> reserved;
  for (const Json& result : ListAt(status, "allocation.devices.results")) {
    if (TextAt(result, "driver") == names::kGpuDraDriver && !BoolAt(result, "adminAccess", false)) {
      reserved.insert(TextAt(result, "device"));
    }
  }
  return reserved;
}

Result<Checkpoint> ParseCheckpoint(std::string_view text) {
  const auto document = MembersOf(text);
  if (!document.has_value()) {
    return Damaged(document.error().message);
  }
  const std::string_view v1 = Member(*document, "v1");
  const std::string_view v2 = Member(*document, "v2");
  std::string covered = R"({"checksum":0)";
  Add(covered, "v1", std::string(v1));
  TRY(Check(Member(*document, "checksum"), covered + "}", "v1"));
  if (v2.empty()) {
    return v1.empty() ? Checkpoint{} : ParseVersion(v1, true);
  }
  const auto members = MembersOf(v2);
  if (!members.has_value()) {
    return Damaged(members.error().message);
  }
  const std::string_view said = Member(*members, "checksum");
  if (said.empty()) {
    return Damaged("v2 has no checksum");
  }
  TRY(Check(said, WithoutChecksum(v2, said), "v2"));
  auto checkpoint = ParseVersion(v2, false);
  return checkpoint.has_value() ? std::move(checkpoint) : Damaged(checkpoint.error().message);
}

std::string CheckpointText(const Checkpoint& checkpoint) {
  std::string v1 = "{";
  Add(v1, "preparedClaims", ClaimsText(checkpoint, true));
  v1 += "}";
  std::string rest;
  const std::string claims = ClaimsText(checkpoint, false);
  rest += claims.empty() ? "" : ",\"preparedClaims\":" + claims;
  rest += checkpoint.boot_id.empty() ? "" : ",\"nodeBootID\":" + GoString(checkpoint.boot_id);
  rest += "}";
  const std::string before = R"({"checksum":)";
  return format("{}{},\"v1\":{},\"v2\":{}{}{}}}", before, Checksum(before + "0,\"v1\":" + v1 + "}"),
                v1, before, Checksum(before + "0" + rest), rest);
}

}  // namespace gantry::dra_driver
