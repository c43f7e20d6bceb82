// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <utility>

#include "gpu/testing/gpus.h"
#include "operands/device_plugin/settings.h"

// Settings for tests.
namespace gantry::device_plugin {

using gpu::AddMig;
using gpu::Gpus;
using gpu::SetOf;

inline Settings With(std::set<ListStrategy> strategies) {
  Settings settings;
  settings.list_strategies = std::move(strategies);
  settings.cdi_annotation_prefix = "cdi.k8s.io/";
  settings.driver = {"/", "/host", "/", "/host"};
  settings.mps_root = "/run/nvidia/mps";
  return settings;
}

inline Settings Mig(policy::MigStrategy strategy) {
  auto settings = With({ListStrategy::kCdiCri});
  settings.mig_strategy = strategy;
  return settings;
}

inline Settings Shared(int replicas, bool rename = false, bool one_only = false) {
  auto settings = With({ListStrategy::kCdiCri});
  settings.sharing.strategy = policy::SharingStrategy::kTimeSlicing;
  settings.sharing.rename_by_default = rename;
  settings.sharing.fail_requests_greater_than_one = one_only;
  settings.sharing.resources = {{.name = "nvidia.com/gpu", .replicas = replicas}};
  return settings;
}

}  // namespace gantry::device_plugin
