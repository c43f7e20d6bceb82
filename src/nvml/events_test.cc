// SPDX-License-Identifier: Apache-2.0
// What is asked of a driver for events, and what becomes of those that it delivers: functions of
// the test's own stand in for the library's.
#include <gtest/gtest.h>

#include "nvml/nvml.h"
#include "nvml/symbols.h"

namespace gantry::nvml {
namespace {

constexpr unsigned long long kXid = nvmlEventTypeXidCriticalError;
constexpr unsigned long long kMig = nvmlEventMigConfigChange;

// What the driver was asked for, and what it delivers next.
struct Driver {
  unsigned long long supported = kXid | kMig;
  unsigned long long refused = 0;  // registering any of these fails
  unsigned long long registered = 0;
  nvmlEventData_t next{};
};

Driver& TheDriver() {
  static Driver driver;
  return driver;
}

nvmlDevice_t Handle() {
  static char handle;
  return reinterpret_cast<nvmlDevice_t>(&handle);
}

class Events : public testing::Test {
 protected:
  Events() {
    TheDriver() = {};
    symbols_.nvmlDeviceGetHandleByUUID = [](const char*, nvmlDevice_t* out) {
      *out = Handle();
      return NVML_SUCCESS;
    };
    symbols_.nvmlDeviceGetSupportedEventTypes = [](nvmlDevice_t, unsigned long long* out) {
      *out = TheDriver().supported;
      return NVML_SUCCESS;
    };
    symbols_.nvmlDeviceRegisterEvents = [](nvmlDevice_t, unsigned long long types, nvmlEventSet_t) {
      if ((types & TheDriver().refused) != 0) {
        return NVML_ERROR_NO_PERMISSION;
      }
      TheDriver().registered = types;
      return NVML_SUCCESS;
    };
    symbols_.nvmlEventSetWait_v2 = [](nvmlEventSet_t, nvmlEventData_t* out, unsigned) {
      *out = TheDriver().next;
      return NVML_SUCCESS;
    };
  }

  std::optional<EventSet::Event> Delivered(EventSet& set, unsigned long long type, uint64_t number,
                                           nvmlDevice_t device) {
    TheDriver().next = {device, type, number, 2, 0xFFFFFFFF};
    return set.Wait(std::chrono::milliseconds(0)).value();
  }

  Symbols symbols_;
};

TEST_F(Events, MigChangesAreAskedForWhereTheDriverTellsOfThem) {
  EventSet set(symbols_, nullptr);
  ASSERT_TRUE(set.Register("GPU-a").has_value());
  EXPECT_EQ(TheDriver().registered, kXid | kMig);
  TheDriver().supported = kXid;
  ASSERT_TRUE(set.Register("GPU-a").has_value());
  EXPECT_EQ(TheDriver().registered, kXid);
}

TEST_F(Events, WhoMayNotWatchMigStillHasXids) {
  TheDriver().refused = kMig;
  EventSet set(symbols_, nullptr);
  ASSERT_TRUE(set.Register("GPU-a").has_value());
  EXPECT_EQ(TheDriver().registered, kXid);
}

TEST_F(Events, AGpuWithoutXidsIsUnsupported) {
  TheDriver().supported = kMig;
  EventSet set(symbols_, nullptr);
  const Status registered = set.Register("GPU-a");
  ASSERT_FALSE(registered.has_value());
  EXPECT_EQ(registered.error().kind, ErrorKind::kUnsupported);
}

TEST_F(Events, AreXidsWithTheirInstanceOrMigChanges) {
  EventSet set(symbols_, nullptr);
  ASSERT_TRUE(set.Register("GPU-a").has_value());
  EXPECT_EQ(Delivered(set, kXid, 94, Handle()),
            (EventSet::Event{
                .uuid = "GPU-a", .xid = 94, .gpu_instance = 2, .compute_instance = std::nullopt}));
  EXPECT_EQ(Delivered(set, kMig, 7, Handle()), (EventSet::Event{.uuid = "GPU-a",
                                                                .mig_changed = true,
                                                                .gpu_instance = 2,
                                                                .compute_instance = std::nullopt}));
  EXPECT_EQ(Delivered(set, nvmlEventTypeClock, 1, Handle()), std::nullopt);
  EXPECT_EQ(Delivered(set, kXid, 79, nullptr),  // not registered here
            (EventSet::Event{
                .uuid = "", .xid = 79, .gpu_instance = 2, .compute_instance = std::nullopt}));
}

}  // namespace
}  // namespace gantry::nvml
