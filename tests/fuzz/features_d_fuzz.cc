// SPDX-License-Identifier: Apache-2.0
// Files that anybody on a node puts into features.d, and the node's own texts: what comes out can
// be written to Kubernetes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nfd/label_policy.h"
#include "operands/node_features/labels.h"
#include "operands/node_features/worker_config.h"

namespace gantry::node_features {
namespace {

void Fuzz(std::string_view bytes) {
  const std::string text(bytes);
  Facts facts;
  facts.local_files = {{"10-a", text}, {"20-b", text}};
  facts.custom_files = {{"r.yaml", text}};
  facts.kernel_release = text;
  facts.os_release = text;
  facts.cpuinfo = text;
  facts.modules = text;
  facts.builtin = text;
  facts.swaps = text;
  facts.files["fs/cgroup/misc.capacity"] = text;
  facts.files["module/kvm_amd/parameters/sev"] = "Y";
  const Labelled labelled = NodeLabels(facts, {}, WallTime());
  for (const auto& [key, value] : labelled.labels) {
    CHECK(nfd::IsLabelKey(key) && nfd::IsLabelValue(value));
  }
  WorkerConfig config;
  if (Overlay(bytes, config).has_value()) {
    NodeLabels(facts, config.labels, WallTime());
  }
}

}  // namespace
}  // namespace gantry::node_features

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  gantry::node_features::Fuzz({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
