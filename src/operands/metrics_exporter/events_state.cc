// SPDX-License-Identifier: Apache-2.0
// What of the events outlives the process? Totals, and until the node boots or the GPU is reset its
// XIDs. Windows begin anew.
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "operands/metrics_exporter/events.h"

namespace gantry::metrics_exporter {
namespace {

template <typename Map>
Json ToJson(const Map& map) {
  Json json = Json::object();
  for (const auto& [key, value] : map) {
    json[std::to_string(key)] = value;
  }
  return json;
}

template <typename Map>
void FromJson(const Json& json, const char* key, Map& to) {
  const Json* map = At(json, key);
  if (map == nullptr || !map->is_object()) {
    return;
  }
  for (auto entry = map->begin(); entry != map->end(); ++entry) {
    const Json& value = entry.value();
    const Result<long long> number = ParseInt(entry.key());
    if (number && *number >= 0 && value.is_number_unsigned()) {
      to[static_cast<typename Map::key_type>(*number)] = value.get<uint64_t>();
    }
  }
}

uint64_t NumberAt(const Json& json, const char* key) {
  const Json* number = At(json, key);
  return number != nullptr && number->is_number_unsigned() ? number->get<uint64_t>() : 0;
}

void PutMark(Json& json, const char* key, const std::optional<double>& mark) {
  if (mark) {
    json[key] = *mark;
  }
}

std::optional<double> MarkAt(const Json& json, const char* key) {
  const Json* mark = At(json, key);
  return mark != nullptr && mark->is_number() ? std::optional(mark->get<double>()) : std::nullopt;
}

}  // namespace

std::string EventLog::Save(const std::string& boot_id) const {
  Json gpus = Json::object();
  for (const auto& [uuid, gpu] : gpus_) {
    Json one = {{"xidTotals", ToJson(gpu.xid_totals)},
                {"clockTotals", ToJson(gpu.clock_totals)},
                {"lastXid", gpu.last_xid},
                {"lastXidOfAll", gpu.last_of_all},
                {"lastXidOfInstance", ToJson(gpu.last_of_instance)},
                {"healthXids", gpu.health.xids()}};
    if (gpu.marks) {
      PutMark(one, "energy", gpu.marks->energy);
      PutMark(one, "replays", gpu.marks->replays);
      PutMark(one, "volatileErrors", gpu.marks->volatile_errors);
    }
    gpus[uuid] = std::move(one);
  }
  return Json{{"bootId", boot_id}, {"gpus", std::move(gpus)}}.dump() + "\n";
}

Status EventLog::Restore(std::string_view text, const std::string& boot_id) {
  TRY_ASSIGN(const Json state, ParseJson(text));
  const Json* gpus = At(state, "gpus");
  if (gpus == nullptr || !gpus->is_object()) {
    return Fail(ErrorKind::kInvalid, "read state: gpus is not a map");
  }
  const bool same_boot = TextAt(state, "bootId") == boot_id;
  for (const auto& [uuid, one] : gpus->items()) {
    OfGpu& gpu = gpus_[uuid];
    FromJson(one, "xidTotals", gpu.xid_totals);
    FromJson(one, "clockTotals", gpu.clock_totals);
    if (!same_boot) {
      continue;
    }
    gpu.last_xid = NumberAt(one, "lastXid");
    gpu.last_of_all = NumberAt(one, "lastXidOfAll");
    FromJson(one, "lastXidOfInstance", gpu.last_of_instance);
    for (const Json& xid : ListAt(one, "healthXids")) {
      if (xid.is_number_unsigned()) {
        gpu.health.OnXid(xid.get<uint64_t>());
      }
    }
    gpu.marks = ResetMarks{.energy = MarkAt(one, "energy"),
                           .replays = MarkAt(one, "replays"),
                           .volatile_errors = MarkAt(one, "volatileErrors")};
  }
  return {};
}

}  // namespace gantry::metrics_exporter
