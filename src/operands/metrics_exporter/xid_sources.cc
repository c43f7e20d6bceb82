// SPDX-License-Identifier: Apache-2.0
// Does an XID count, or has the other source named it?
#include "operands/metrics_exporter/xid_sources.h"

#include <algorithm>

namespace gantry::metrics_exporter {
namespace {

constexpr size_t kMost = 4096;  // a GPU may report some thousands a second

}  // namespace

bool XidSources::TakeTwin(Entries& entries, const SourcedXid& xid) {
  const auto twin = std::ranges::find_if(entries, [&xid](const Entry& entry) {
    return entry.xid.uuid == xid.uuid && entry.xid.xid == xid.xid;
  });
  if (twin == entries.end()) {
    return false;
  }
  entries.erase(twin);
  return true;
}

void XidSources::Forget(SteadyTime now) {
  for (Entries* const entries : {&of_driver_, &of_log_}) {
    while (!entries->empty() && (entries->front().at + kTwin < now || entries->size() > kMost)) {
      entries->pop_front();
    }
  }
}

bool XidSources::FromDriver(const SourcedXid& xid, SteadyTime now) {
  Forget(now);
  if (TakeTwin(of_log_, xid)) {
    return false;
  }
  if (!TakeTwin(waiting_, xid)) {
    of_driver_.push_back({xid, now});
  }
  return true;
}

bool XidSources::FromLog(const SourcedXid& xid, SteadyTime now) {
  Forget(now);
  if (TakeTwin(of_driver_, xid)) {
    return false;
  }
  const bool counts = at_once_.contains(xid.xid) || waiting_.size() >= kMost;
  (counts ? of_log_ : waiting_).push_back({xid, now});
  return counts;
}

std::vector<SourcedXid> XidSources::Due(SteadyTime now) {
  std::vector<SourcedXid> due;
  while (!waiting_.empty() && waiting_.front().at + kWait <= now) {
    due.push_back(waiting_.front().xid);
    of_log_.push_back(waiting_.front());
    waiting_.pop_front();
  }
  return due;
}

std::optional<SteadyTime> XidSources::due_at() const {
  return waiting_.empty() ? std::nullopt : std::optional(waiting_.front().at + kWait);
}

}  // namespace gantry::metrics_exporter
