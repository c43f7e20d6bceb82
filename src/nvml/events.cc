// SPDX-License-Identifier: Apache-2.0
// Which GPU had an XID, or a change of its MIG devices? NVML's events carry a device handle. A GPU
// that fell off the bus no longer reports its UUID, so the handle is looked up among the registered
// ones.
#include <map>
#include <mutex>

#include "base/text.h"
#include "nvml/errors.h"
#include "nvml/nvml.h"
#include "nvml/symbols.h"

namespace gantry::nvml {
namespace {

constexpr unsigned kNoInstance = 0xFFFFFFFF;  // nvmlEventData_t: not confined to an instance

std::optional<unsigned> Instance(unsigned id) {
  return id == kNoInstance ? std::nullopt : std::optional<unsigned>(id);
}

}  // namespace

struct EventSet::Registered {
  std::mutex mutex;
  std::map<nvmlDevice_t, std::string> uuids;
};

EventSet::EventSet(const Symbols& symbols, void* set)
    : symbols_(symbols), set_(set), registered_(std::make_unique<Registered>()) {}

EventSet::~EventSet() { Call(symbols_.nvmlEventSetFree, static_cast<nvmlEventSet_t>(set_)); }

Result<std::unique_ptr<EventSet>> Library::NewEventSet() const {
  nvmlEventSet_t set = nullptr;
  const nvmlReturn_t code = Call(symbols_->nvmlEventSetCreate, &set);
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlEventSetCreate", "", code);
  }
  return std::make_unique<EventSet>(*symbols_, set);
}

Status EventSet::Register(const std::string& uuid) {
  nvmlDevice_t handle = nullptr;
  nvmlReturn_t code = Call(symbols_.nvmlDeviceGetHandleByUUID, uuid.c_str(), &handle);
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceGetHandleByUUID", uuid, code);
  }
  unsigned long long supported = 0;
  code = Call(symbols_.nvmlDeviceGetSupportedEventTypes, handle, &supported);
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceGetSupportedEventTypes", uuid, code);
  }
  if ((supported & nvmlEventTypeXidCriticalError) == 0) {
    return Fail(ErrorKind::kUnsupported, format("register events of {}: no XID events", uuid));
  }
  {
    const std::lock_guard lock(registered_->mutex);
    registered_->uuids[handle] = uuid;
  }
  constexpr unsigned long long kXid = nvmlEventTypeXidCriticalError;
  const unsigned long long both = supported & (kXid | nvmlEventMigConfigChange);
  const auto set = static_cast<nvmlEventSet_t>(set_);
  code = Call(symbols_.nvmlDeviceRegisterEvents, handle, both, set);
  if (code != NVML_SUCCESS && both != kXid) {
    code = Call(symbols_.nvmlDeviceRegisterEvents, handle, kXid, set);  // MIG's may need a right
  }
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceRegisterEvents", uuid, code);
  }
  return {};
}

Result<std::optional<EventSet::Event>> EventSet::Wait(std::chrono::milliseconds timeout) {
  nvmlEventData_t event{};
  event.gpuInstanceId = kNoInstance;
  event.computeInstanceId = kNoInstance;
  const auto wait = symbols_.nvmlEventSetWait_v2 != nullptr ? symbols_.nvmlEventSetWait_v2
                                                            : symbols_.nvmlEventSetWait;
  const nvmlReturn_t code =
      Call(wait, static_cast<nvmlEventSet_t>(set_), &event, static_cast<unsigned>(timeout.count()));
  if (code == NVML_ERROR_TIMEOUT) {
    return std::nullopt;
  }
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlEventSetWait", "", code);
  }
  const bool mig_changed = event.eventType == nvmlEventMigConfigChange;
  if (!mig_changed && event.eventType != nvmlEventTypeXidCriticalError) {
    return std::nullopt;
  }
  const std::lock_guard lock(registered_->mutex);
  const auto found = registered_->uuids.find(event.device);
  return Event{.uuid = found == registered_->uuids.end() ? "" : found->second,
               .mig_changed = mig_changed,
               .xid = mig_changed ? 0 : event.eventData,
               .gpu_instance = Instance(event.gpuInstanceId),
               .compute_instance = Instance(event.computeInstanceId)};
}

}  // namespace gantry::nvml
