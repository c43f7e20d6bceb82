// SPDX-License-Identifier: Apache-2.0
#include "host/driver_verdict.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace gantry::host {
namespace {

// A node with a working driver of its own.
DriverObservation Working() {
  DriverObservation seen;
  seen.host_root = "/host";
  seen.driver_dir = "/run/nvidia/driver";
  seen.host = {.nvidia_smi = "/usr/bin/nvidia-smi",
               .library = "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.247.01",
               .library_version = "535.247.01"};
  seen.host_nodes = {.control = true, .uvm = true, .gpus = {0, 1}};
  seen.module_loaded = true;
  seen.module_version = "535.247.01";
  seen.gpus_by_driver = {{"nvidia", 2}};
  return seen;
}

// The same, with the driver in a container.
DriverObservation Containerised() {
  DriverObservation seen = Working();
  seen.container = seen.host;
  seen.host = {};
  seen.container_ready = true;
  return seen;
}

TEST(DriverVerdict, TheHostsDriver) {
  const DriverVerdict verdict = JudgeDriver(Working());
  EXPECT_EQ(verdict.kind, DriverKind::kHost);
  EXPECT_EQ(verdict.version, "535.247.01");
  EXPECT_EQ(verdict.driver_root, "/");
  EXPECT_EQ(verdict.driver_root_here, "/host");
  EXPECT_EQ(verdict.dev_root_here, "/host");
  EXPECT_TRUE(verdict.remedy.empty());
}

// op#2685: ready was said while nvidia-uvm's nodes were missing.
TEST(DriverVerdict, Op2685_EachDeviceNodeIsNeeded) {
  DriverObservation seen = Working();
  seen.host_nodes.uvm = false;
  EXPECT_EQ(JudgeDriver(seen).reason, "DeviceNodeMissing");
  EXPECT_NE(JudgeDriver(seen).message.find("nvidia-uvm"), std::string::npos);
  seen = Working();
  seen.module_gpus = {0, 1};
  EXPECT_EQ(JudgeDriver(seen).kind, DriverKind::kHost);
  seen.module_gpus = {0, 1, 3};
  EXPECT_EQ(JudgeDriver(seen).reason, "DeviceNodeMissing");
  EXPECT_NE(JudgeDriver(seen).message.find("/dev/nvidia3"), std::string::npos);
}

TEST(DriverVerdict, ADriverContainersDriver) {
  DriverObservation seen = Containerised();
  DriverVerdict verdict = JudgeDriver(seen);
  EXPECT_EQ(verdict.kind, DriverKind::kContainer);
  EXPECT_EQ(verdict.driver_root, "/run/nvidia/driver");
  EXPECT_EQ(verdict.driver_root_here, "/driver-root");
  EXPECT_EQ(verdict.dev_root_here, "/host");

  seen.container_has_dev = true;
  seen.container_nodes = seen.host_nodes;
  verdict = JudgeDriver(seen);
  EXPECT_EQ(verdict.dev_root, "/run/nvidia/driver");
  EXPECT_EQ(verdict.dev_root_here, "/driver-root");
}

// op#2685: with a driver in a container, nodes were missed, and made, in another /dev.
TEST(DriverVerdict, Op2685_SaysWhereMissingDeviceNodesBelong) {
  DriverObservation seen = Working();
  seen.host_nodes.uvm = false;
  EXPECT_EQ(JudgeDriver(seen).dev_root, "/");
  seen = Containerised();
  seen.host_nodes.uvm = false;
  EXPECT_EQ(JudgeDriver(seen).dev_root, "/");
  seen.container_has_dev = true;
  EXPECT_EQ(JudgeDriver(seen).reason, "DeviceNodeMissing");
  EXPECT_EQ(JudgeDriver(seen).dev_root, "/run/nvidia/driver");
}

// What a driver's container could not do does not matter where there is a driver.
TEST(DriverVerdict, AFailedContainerIsHeardOnlyWithoutADriver) {
  DriverObservation seen = Working();
  seen.container_failure = "no headers";
  EXPECT_EQ(JudgeDriver(seen).kind, DriverKind::kHost);
  seen = Containerised();
  seen.container_failure = "no headers";
  EXPECT_EQ(JudgeDriver(seen).kind, DriverKind::kContainer);
  seen.container = {};
  EXPECT_EQ(JudgeDriver(seen).message, "no headers");
}

TEST(DriverVerdict, TheHostsDriverIsTakenFirst) {
  DriverObservation seen = Working();
  seen.container = seen.host;
  seen.container_ready = true;
  EXPECT_EQ(JudgeDriver(seen).kind, DriverKind::kHost);
  seen.host_nodes = {};
  seen.container_has_dev = true;
  seen.container_nodes = {.control = true, .uvm = true, .gpus = {0}};
  EXPECT_EQ(JudgeDriver(seen).kind, DriverKind::kContainer);
}

TEST(DriverVerdict, WindowsDriver) {
  DriverObservation seen;
  seen.wsl = true;
  EXPECT_EQ(JudgeDriver(seen).kind, DriverKind::kHost);
}

TEST(DriverVerdict, WhatCannotBeSeenIsNoObjection) {
  DriverObservation seen = Working();
  seen.module_loaded = std::nullopt;
  seen.module_version.clear();
  EXPECT_EQ(JudgeDriver(seen).kind, DriverKind::kHost);
  EXPECT_EQ(JudgeDriver(seen).version, "535.247.01");
}

struct Reason {
  const char* reason;
  std::function<void(DriverObservation&)> change;
};

class DriverVerdictNo : public ::testing::TestWithParam<Reason> {};

TEST_P(DriverVerdictNo, HasAReason) {
  DriverObservation seen = Working();
  GetParam().change(seen);
  const DriverVerdict verdict = JudgeDriver(seen);
  EXPECT_EQ(verdict.kind, DriverKind::kNone);
  EXPECT_EQ(verdict.reason, GetParam().reason);
  EXPECT_FALSE(verdict.message.empty());
  EXPECT_FALSE(verdict.remedy.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Table, DriverVerdictNo,
    ::testing::Values(
        Reason{"LibraryMissing", [](DriverObservation& seen) { seen.host.library.clear(); }},
        Reason{"KernelModuleNotLoaded",
               [](DriverObservation& seen) {
                 seen.module_loaded = false;
                 seen.module_version.clear();
                 seen.gpus_by_driver = {{"", 2}};
               }},
        Reason{"GpuBoundToVfio",
               [](DriverObservation& seen) {
                 seen.module_loaded = false;
                 seen.gpus_by_driver = {{"vfio-pci", 2}};
               }},
        Reason{"GpuBoundToNouveau",
               [](DriverObservation& seen) {
                 seen.module_loaded = false;
                 seen.gpus_by_driver = {{"nouveau", 2}};
               }},
        Reason{"VersionMismatch",
               [](DriverObservation& seen) { seen.module_version = "550.54.15"; }},
        Reason{"DeviceNodeMissing",
               [](DriverObservation& seen) { seen.host_nodes.control = false; }},
        Reason{"DeviceNodeMissing", [](DriverObservation& seen) { seen.host_nodes.gpus.clear(); }},
        Reason{"DriverContainerNotReady",
               [](DriverObservation& seen) {
                 seen = Containerised();
                 seen.container_ready = false;
               }},
        Reason{"DriverNotInstalled",
               [](DriverObservation& seen) {
                 seen = Containerised();
                 seen.container_ready = false;
                 seen.container_failure = "no headers";
               }},
        Reason{"DriverNotInstalled",
               [](DriverObservation& seen) {
                 seen.host = {};
                 seen.container_failure = "no headers";
               }},
        Reason{"DriverMissing", [](DriverObservation& seen) { seen.host = {}; }},
        Reason{"GpuBoundToNouveau",
               [](DriverObservation& seen) {
                 seen.host = {};
                 seen.gpus_by_driver = {{"nouveau", 2}};
               }},
        Reason{"NoGpu",
               [](DriverObservation& seen) {
                 seen.host = {};
                 seen.gpus_by_driver.clear();
               }}),
    [](const ::testing::TestParamInfo<Reason>& each) {
      return each.param.reason + std::to_string(each.index);
    });

}  // namespace
}  // namespace gantry::host
