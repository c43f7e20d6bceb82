// SPDX-License-Identifier: Apache-2.0
// A claim of a user, and the checkpoint of another version, never end the DRA driver. What it reads
// of a checkpoint it writes again without loss.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "operands/dra_driver/checkpoint.h"
#include "operands/dra_driver/claim_config.h"
#include "operands/dra_driver/claim_plan.h"
#include "operands/dra_driver/testing/node.h"

namespace {

using namespace gantry;
using namespace gantry::dra_driver;

void ReadCheckpoint(std::string_view text) {
  const auto read = ParseCheckpoint(text);
  if (!read.has_value()) {
    return;
  }
  const auto again = ParseCheckpoint(CheckpointText(*read));
  CHECK(again.has_value());
  CHECK(again->claims.size() == read->claims.size());
}

void ReadClaim(std::string_view text) {
  static const NodeGpus node = TestNode();
  const auto json = ParseJson(text);
  if (!json.has_value()) {
    return;
  }
  (void)DecodeConfig(*json);
  (void)ReservedIn(*json);
  const auto entry = PlanClaim(*json, {.ns = "ns", .uid = "u", .name = "name"}, "node", node.set,
                               node.devices, {});
  if (entry.has_value()) {
    Checkpoint checkpoint;
    checkpoint.claims["u"] = *entry;
    CHECK(ParseCheckpoint(CheckpointText(checkpoint)) == checkpoint);
  }
  Json claim = TestClaim("u", {{"r", "gpu-0"}, {"m", "gpu-2-mig-1g10gb-19-2"}});
  claim["status"]["allocation"]["devices"]["config"] =
      Json::array({{{"source", "FromClaim"},
                    {"opaque", {{"driver", "gpu.nvidia.com"}, {"parameters", *json}}}}});
  (void)PlanClaim(claim, {.ns = "ns", .uid = "u", .name = "name"}, "node", node.set, node.devices,
                  {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ReadCheckpoint(text);
  ReadClaim(text);
  return 0;
}
