// SPDX-License-Identifier: Apache-2.0
// Event sets: who registered for what, and what has happened since.
//
// The machine holds the last kEventSlots events in a ring and counts all that ever were. A set
// remembers how far it has read; what it is given happened after the GPU was registered. Waiting is
// a futex on the machine's wake word, so nothing runs until the tool raises something.
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "session.h"

using namespace fakegpu;

struct nvmlEventSet_st {
  pthread_mutex_t mutex;
  u64 read;              // events seen by this set
  u64 wanted[kMaxGpus];  // types, by the GPU's position
  u64 since[kMaxGpus];   // the event count when the GPU was registered
};

namespace {

constexpr u64 kSupported = nvmlEventTypeSingleBitEccError | nvmlEventTypeDoubleBitEccError |
                           nvmlEventTypePState | nvmlEventTypeXidCriticalError | nvmlEventTypeClock;

u64 EventCount() { return __atomic_load_n(&TheMachine()->event_count, __ATOMIC_ACQUIRE); }

int64_t Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

// Takes the next event that the set asked for; false if there is none yet.
bool Take(nvmlEventSet_st& set, nvmlEventData_t& out) {
  pthread_mutex_lock(&set.mutex);
  bool found = false;
  u64 count = EventCount();
  if (count - set.read > kEventSlots)
    set.read = count - kEventSlots;  // the ring has gone over the rest
  while (!found && set.read < count) {
    const Event& event = TheMachine()->events[set.read % kEventSlots];
    nvmlDevice_t device = HandleOf(event.gpu);
    found = device != nullptr && (set.wanted[event.gpu] & event.type) != 0 &&
            set.since[event.gpu] <= set.read;
    if (found) {
      out = {device, event.type, event.payload, event.gpu_instance, event.compute_instance};
    }
    ++set.read;
  }
  pthread_mutex_unlock(&set.mutex);
  return found;
}

}  // namespace

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device,
                                                             unsigned long long* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    u64 ecc = nvmlEventTypeSingleBitEccError | nvmlEventTypeDoubleBitEccError;
    u64 mig = gpu.mig_capable == 1 ? nvmlEventMigConfigChange : 0;
    return Put(out, (gpu.ecc == kUnknown32 ? kSupported & ~ecc : kSupported) | mig);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t* out) {
  if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  auto* set = static_cast<nvmlEventSet_st*>(calloc(1, sizeof(nvmlEventSet_st)));
  if (set == nullptr) return NVML_ERROR_MEMORY;
  pthread_mutex_init(&set->mutex, nullptr);
  *out = set;
  return NVML_SUCCESS;
}

FAKEGPU_EXPORT nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) {
  if (set == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  pthread_mutex_destroy(&set->mutex);
  free(set);
  return NVML_SUCCESS;
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types,
                                                     nvmlEventSet_t set) {
  return OnGpu(__func__, device, [&](const Gpu&) {
    if (set == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    unsigned long long supported = 0;
    nvmlDeviceGetSupportedEventTypes(device, &supported);
    if ((types & ~supported) != 0) return NVML_ERROR_NOT_SUPPORTED;
    u32 position = PositionOf(device);
    pthread_mutex_lock(&set->mutex);
    if (set->wanted[position] == 0) set->since[position] = EventCount();
    set->wanted[position] |= types;
    pthread_mutex_unlock(&set->mutex);
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t* out,
                                                unsigned milliseconds) {
  if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
  if (set == nullptr || out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  int64_t end = Now() + milliseconds;
  while (true) {
    u32 seen =
        WakeWord();  // read before looking, so that no event slips between looking and waiting
    if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
    if (Take(*set, *out)) return NVML_SUCCESS;
    int64_t left = end - Now();
    if (left <= 0) return NVML_ERROR_TIMEOUT;
    WaitForChange(seen, left);
  }
}

FAKEGPU_EXPORT nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t* out,
                                             unsigned milliseconds) {
  return nvmlEventSetWait_v2(set, out, milliseconds);
}
