// SPDX-License-Identifier: Apache-2.0

// How are the holders of a node's GPUs, and what is decided about them, written in annotations? As
// JSON, with times in Unix seconds. Anyone with the right may have written them, so what is not
// understood counts as absent.

#include "policy/mig_holders.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "policy/spec_section.h"

namespace gantry::policy {
namespace {

using std::chrono::seconds;

long long UnixSeconds(WallTime time) {
  return std::chrono::floor<seconds>(time).time_since_epoch().count();
}

// nullopt: no time of a calendar.
std::optional<WallTime> TimeAt(const Json& json, const char* key) {
  constexpr long long kLatest = 1LL << 33U;
  const long long value = IntAt(json, key, -1);
  return value < 0 || value > kLatest ? std::nullopt : std::optional(WallTime(seconds(value)));
}

// nullopt: no object.
std::optional<Json> ObjectIn(std::string_view annotation) {
  auto parsed = ParseJson(annotation);
  return parsed.has_value() && parsed->is_object() ? std::optional(*std::move(parsed))
                                                   : std::nullopt;
}

}  // namespace

std::string FormatMigHolders(const MigHolders& holders) {
  return Json{{"layout", holders.layout},
              {"pods", holders.pods},
              {"processes", holders.processes},
              {"withdrawn", holders.withdrawn}}
      .dump();
}

std::optional<MigHolders> ParseMigHolders(std::string_view annotation) {
  const std::optional<Json> json = ObjectIn(annotation);
  if (!json.has_value() || TextAt(*json, "layout").empty()) {
    return std::nullopt;
  }
  return MigHolders{.layout = TextAt(*json, "layout"),
                    .pods = TextsAt(*json, "pods"),
                    .processes = TextsAt(*json, "processes"),
                    .withdrawn = BoolAt(*json, "withdrawn", false)};
}

std::string FormatMigHoldersStep(const MigHoldersStep& step) {
  Json json = {{"layout", step.layout},
               {"action", Name(step.spec.action)},
               {"timeoutSeconds", step.spec.removal.timeout.count()},
               {"force", step.spec.removal.force},
               {"deleteEmptyDir", step.spec.removal.delete_empty_dir},
               {"heldSince", UnixSeconds(step.held_since)},
               {"since", UnixSeconds(step.since)},
               {"givenUp", step.given_up},
               {"message", step.message}};
  if (step.deadline.has_value()) {
    json["deadline"] = UnixSeconds(*step.deadline);
  }
  if (!step.refused.empty()) {
    json["refused"] = step.refused;
  }
  return json.dump();
}

std::optional<MigHoldersStep> ParseMigHoldersStep(std::string_view annotation) {
  const std::optional<Json> json = ObjectIn(annotation);
  if (!json.has_value()) {
    return std::nullopt;
  }
  std::optional<Error> mistake;
  MigHoldersStep step;
  step.layout = TextAt(*json, "layout");
  step.spec = ReadGpuHolders(SpecSection(&*json, "", &mistake), {});
  const auto held_since = TimeAt(*json, "heldSince");
  const auto since = TimeAt(*json, "since");
  if (mistake.has_value() || step.layout.empty() || !held_since.has_value() || !since.has_value()) {
    return std::nullopt;
  }
  step.held_since = *held_since;
  step.since = *since;
  step.given_up = BoolAt(*json, "givenUp", false);
  step.deadline = TimeAt(*json, "deadline");
  step.refused = TextAt(*json, "refused");
  step.message = TextAt(*json, "message");
  return step;
}

}  // namespace gantry::policy
