// SPDX-License-Identifier: Apache-2.0
// How often has something happened? XID errors, and moments in which clocks were held back: in a
// window of time, and since the start.
#include "operands/metrics_exporter/events.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace gantry::metrics_exporter {
namespace {

constexpr size_t kMostXids = 4096;  // of a window: a GPU may report some thousands a second

struct Reason {
  uint64_t bit;
  const char* name;
};

// dcgm-exporter's names of nvmlClocksEventReasons.
constexpr auto kReasons = std::to_array<Reason>({
    {0x1, "gpu_idle"},
    {0x2, "clocks_setting"},
    {0x4, "power_cap"},
    {0x8, "hw_slowdown"},
    {0x10, "sync_boost"},
    {0x20, "sw_thermal"},
    {0x40, "hw_thermal"},
    {0x80, "hw_power_brake"},
    {0x100, "display_clocks"},
});

std::pair<std::string, std::string> WindowLabel(std::chrono::milliseconds window) {
  return {"window_size_in_ms", std::to_string(window.count())};
}

template <typename Events>
void Forget(Events& events, SteadyTime before) {
  while (!events.empty() && events.front().at <= before) {
    events.pop_front();
  }
}

}  // namespace

void EventLog::AddXid(const std::string& uuid, uint64_t xid, std::optional<unsigned> gpu_instance,
                      SteadyTime at) {
  OfGpu& gpu = gpus_[uuid];
  gpu.xids.push_back({at, xid, gpu_instance});
  Forget(gpu.xids, at - windows_.xids);
  if (gpu.xids.size() > kMostXids) {
    gpu.xids.pop_front();
  }
  gpu.last_xid = xid;
  if (gpu_instance) {
    gpu.last_of_instance[*gpu_instance] = xid;
  } else {
    gpu.last_of_all = xid;
    gpu.last_of_instance.clear();
  }
  gpu.xid_totals[xid]++;
  gpu.health.OnXid(xid);
  version_++;
}

void EventLog::AddClockReasons(OfGpu& gpu, uint64_t reasons, SteadyTime at) {
  gpu.clocks.push_back({at, reasons});
  Forget(gpu.clocks, at - windows_.clocks);
  for (const Reason& reason : kReasons) {
    if ((reasons & ~gpu.reasons & reason.bit) != 0) {
      gpu.clock_totals[reason.bit]++;
      version_++;
    }
  }
  gpu.reasons = reasons;
}

bool EventLog::Look(const std::string& uuid, const Facts& facts, SteadyTime at) {
  OfGpu& gpu = gpus_[uuid];
  const bool reset = facts.marks && gpu.marks && WasReset(*gpu.marks, *facts.marks);
  if (reset) {
    Reset(uuid);
  }
  gpu.marks = facts.marks;
  if (facts.clock_reasons) {
    AddClockReasons(gpu, *facts.clock_reasons, at);
  }
  if (facts.health) {
    gpu.health.Look(*facts.health, at);
    gpu.health_seen = true;
  }
  gpu.peers = facts.peers;
  return reset;
}

void EventLog::Reset(const std::string& uuid) {
  OfGpu& gpu = gpus_[uuid];
  gpu.last_xid = 0;
  gpu.last_of_all = 0;
  gpu.last_of_instance.clear();
  gpu.health.Reset();
  version_++;
}

bool EventLog::HasXid(const std::string& uuid) const {
  const auto found = gpus_.find(uuid);
  return found != gpus_.end() && found->second.last_xid != 0;
}

// What concerns the GPU concerns each of its instances.
std::vector<Point> EventLog::LastXid(const OfGpu& gpu, std::optional<unsigned> gpu_instance) {
  uint64_t xid = gpu.last_xid;
  if (gpu_instance) {
    const auto found = gpu.last_of_instance.find(*gpu_instance);
    xid = found == gpu.last_of_instance.end() ? gpu.last_of_all : found->second;
  }
  return {
      {.value = static_cast<double>(xid),
       .labels = {},
       .attributes = {{"err_code", std::to_string(xid)}, {"err_msg", std::string(XidText(xid))}}}};
}

std::vector<Point> EventLog::XidCount(const OfGpu& gpu, SteadyTime now) const {
  std::map<uint64_t, size_t> counts;
  for (const Xid& xid : gpu.xids) {
    if (xid.at > now - windows_.xids) {
      counts[xid.number]++;
    }
  }
  std::vector<Point> points;
  points.reserve(counts.size());
  for (const auto& [number, count] : counts) {
    points.push_back({.value = static_cast<double>(count),
                      .labels = {WindowLabel(windows_.xids), {"xid", std::to_string(number)}},
                      .attributes = {}});
  }
  if (points.empty()) {
    points.push_back({.value = 0, .labels = {WindowLabel(windows_.xids)}, .attributes = {}});
  }
  return points;
}

std::vector<Point> EventLog::ClockCount(const OfGpu& gpu, SteadyTime now) const {
  std::vector<Point> points;
  for (const Reason& reason : kReasons) {
    const auto count = std::ranges::count_if(gpu.clocks, [&](const Clocks& clocks) {
      return clocks.at > now - windows_.clocks && (clocks.reasons & reason.bit) != 0;
    });
    points.push_back({.value = static_cast<double>(count),
                      .labels = {{"clock_event", reason.name}, WindowLabel(windows_.clocks)},
                      .attributes = {}});
  }
  return points;
}

std::vector<Point> EventLog::XidTotal(const OfGpu& gpu) {
  std::vector<Point> points;
  points.reserve(gpu.xid_totals.size());
  for (const auto& [number, count] : gpu.xid_totals) {
    points.push_back({.value = static_cast<double>(count),
                      .labels = {{"xid", std::to_string(number)}},
                      .attributes = {}});
  }
  return points;
}

std::vector<Point> EventLog::ClockTotal(const OfGpu& gpu) {
  std::vector<Point> points;
  for (const Reason& reason : kReasons) {
    const auto count = gpu.clock_totals.find(reason.bit);
    points.push_back(
        {.value = count == gpu.clock_totals.end() ? 0 : static_cast<double>(count->second),
         .labels = {{"clock_event", reason.name}},
         .attributes = {}});
  }
  return points;
}

std::vector<Point> EventLog::HealthOf(const OfGpu& gpu) {
  std::vector<Point> points;
  if (!gpu.health_seen) {
    return points;
  }
  const auto watches = gpu.health.Watches();
  for (size_t i = 0; i < watches.size(); ++i) {
    points.push_back({.value = static_cast<double>(watches[i].verdict),
                      .labels = {{"health_error_code", std::string(watches[i].code)},
                                 {"health_watch", std::string(WatchName(static_cast<Watch>(i)))}},
                      .attributes = {}});
  }
  return points;
}

std::vector<Point> EventLog::PeersOf(const OfGpu& gpu) {
  std::vector<Point> points;
  points.reserve(gpu.peers.size());
  for (const PeerStatus& peer : gpu.peers) {
    points.push_back({.value = static_cast<double>(peer.status),
                      .labels = {{"link_status", std::string(PeerStatusText(peer.status))},
                                 {"peer_gpu", std::to_string(peer.gpu)}},
                      .attributes = {}});
  }
  return points;
}

std::vector<Point> EventLog::Points(From what, const std::string& uuid,
                                    std::optional<unsigned> gpu_instance, SteadyTime now) const {
  static const OfGpu kNothing;
  const auto found = gpus_.find(uuid);
  const OfGpu& gpu = found == gpus_.end() ? kNothing : found->second;
  switch (what) {
    case From::kXid:
      return LastXid(gpu, gpu_instance);
    case From::kXidCount:
      return XidCount(gpu, now);
    case From::kClockCount:
      return ClockCount(gpu, now);
    case From::kXidTotal:
      return XidTotal(gpu);
    case From::kClockTotal:
      return ClockTotal(gpu);
    case From::kHealth:
      return HealthOf(gpu);
    case From::kPeers:
      return PeersOf(gpu);
    default:
      return {};
  }
}

}  // namespace gantry::metrics_exporter
