// SPDX-License-Identifier: Apache-2.0
// Which words do a log and an event have for a change of a GPU's health?
#include "gpu/health_news.h"

#include "base/log.h"
#include "base/text.h"

namespace gantry::gpu {

HealthNews NewsOf(const HealthChange& change) {
  using Level = HealthNews::Level;
  switch (change.to) {
    case Health::kHealthy:
      return {Level::kInfo, &reasons::kGpuHealthy,
              format("{} is {} again after: {}", change.uuid, Name(change.to), change.reason)};
    case Health::kSuspect:
      return {
          Level::kWarning, &reasons::kGpuSuspect,
          format("{} is suspect, and in service while it answers: {}", change.uuid, change.reason)};
    case Health::kUnhealthy:
      return {Level::kError, InService(change.from) ? &reasons::kGpuUnhealthy : nullptr,
              format("{} is out of service: {}", change.uuid, change.reason)};
    case Health::kRecovering:
      break;
  }
  return {Level::kInfo, nullptr,
          format("{} responds again; it returns to service if its probes stay good", change.uuid)};
}

void Log(const HealthNews& news) {
  switch (news.level) {
    case HealthNews::Level::kInfo:
      log::Info("{}", news.message);
      return;
    case HealthNews::Level::kWarning:
      log::Warning("{}", news.message);
      return;
    case HealthNews::Level::kError:
      log::Error("{}", news.message);
      return;
  }
}

}  // namespace gantry::gpu
