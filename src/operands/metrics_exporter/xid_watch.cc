// SPDX-License-Identifier: Apache-2.0
// Which XIDs are to be counted? Looked for in the driver's events and in the kernel's log.
#include "operands/metrics_exporter/xid_watch.h"

#include <set>
#include <utility>

#include "base/environment.h"
#include "base/log.h"
#include "base/text.h"
#include "operands/metrics_exporter/label_sets.h"

namespace gantry::metrics_exporter {
namespace {

std::set<uint64_t> AtOnce() {
  std::set<uint64_t> xids;
  for (const std::string& word : Split(EnvironmentOr("__DCGM_XID_KMSG__", "79,119,120"), ',')) {
    if (const auto xid = ParseInt(Trim(word)); xid && *xid > 0) {
      xids.insert(static_cast<uint64_t>(*xid));
    }
  }
  return xids;
}

}  // namespace

XidWatch::XidWatch() : sources_(AtOnce()) {
  const std::string path = EnvironmentOr("__DCGM_TEST_KMSG_FILENAME__", "/dev/kmsg");
  auto log = XidLog::Open(path);
  if (!log) {
    log::Info("XIDs by NVML's events alone: {}", log.error().message);
    return;
  }
  log_ = *std::move(log);
  if (log_->fd() < 0) {
    file_ = path;
  }
}

void XidWatch::Know(const std::vector<gpu::Gpu>& gpus) {
  for (const gpu::Gpu& gpu : gpus) {
    uuids_[NvmlBusId(gpu.pci_bus_id)] = gpu.uuid;
  }
}

std::vector<SourcedXid> XidWatch::FromDriver(const gpu::XidEvent& event, SteadyTime now) {
  SourcedXid xid{.uuid = event.gpu_uuid, .xid = event.xid, .gpu_instance = event.gpu_instance};
  return sources_.FromDriver(xid, now) ? std::vector{std::move(xid)} : std::vector<SourcedXid>();
}

std::vector<SourcedXid> XidWatch::FromLog(SteadyTime now) {
  std::vector<SourcedXid> count = sources_.Due(now);
  if (!log_) {
    return count;
  }
  for (const LoggedXid& logged : log_->Read()) {
    const auto uuid = uuids_.find(NvmlBusId(logged.pci_bus_id));
    if (uuid == uuids_.end()) {
      continue;  // of a GPU that is not ours
    }
    SourcedXid xid{.uuid = uuid->second, .xid = logged.xid, .gpu_instance = logged.gpu_instance};
    if (sources_.FromLog(xid, now)) {
      count.push_back(std::move(xid));
    }
  }
  return count;
}

}  // namespace gantry::metrics_exporter
