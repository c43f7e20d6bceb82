// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "gpu/for_containers.h"
#include "operands/gpu_features/labels.h"

namespace gantry::gpu_features {

// The input for the labels of one resource (`nvidia.com/gpu`, `nvidia.com/mig-1g.10gb`).
struct ResourceFacts {
  std::string key;      // of its labels, up to the suffix: "nvidia.com/gpu."
  std::string product;  // NVML's name of the GPU
  std::string suffix;   // of the product's label: "-MIG-1g.10gb"
  int count = 0;
  int replicas = 0;         // 0: none is offered
  uint64_t memory_mib = 0;  // 0: unknown, no label
};

// product, count, replicas, sharing-strategy, memory.
void AddResource(const ResourceFacts& resource, const policy::Sharing& sharing, LabelMap& labels);

bool InMigMode(const nvml::Device& gpu);

// The offer of a resource (its name before sharing renames it): the number of devices, and the
// maximum number of replicas of one; 0 if there is none.
struct Tally {
  int count = 0;
  int replicas = 0;
};
Tally TallyOf(const gpu::ForContainers& offered, std::string_view resource,
              const std::function<bool(const gpu::Unit&)>& counts);

// Labels of the MIG devices under strategy single (they replace the GPUs' own labels) or mixed (one
// set for each profile). `product` is the node's main product; `offered` is for the GPUs of the
// facts.
void AddMigDevices(const Facts& facts, const gpu::ForContainers& offered,
                   const std::string& product, const LabelOptions& options, Labelled& labelled);

// A value as Kubernetes allows it: characters outside [A-Za-z0-9-_. ] dropped, white space to one
// '-', at most 63 characters together with `suffix`, a letter or digit at both ends.
std::string LabelValue(std::string_view text, std::string_view suffix = "");

}  // namespace gantry::gpu_features
