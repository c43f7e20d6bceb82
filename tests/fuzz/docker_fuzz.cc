// SPDX-License-Identifier: Apache-2.0
// Docker's daemon.json, and its answer to GET /info: what is planned for the file is JSON again and
// is not planned twice.
#include <cstddef>
#include <cstdint>
#include <string>

#include "container/docker.h"
#include "container/docker_status.h"

namespace gantry::container {
namespace {

void Fuzz(const std::string& text) {
  static_cast<void>(ParseDockerInfo(text));
  DockerWish wish;
  wish.text = text;
  const auto plan = PlanDocker(wish);
  if (!plan) {
    return;
  }
  CHECK(EffectiveDocker(plan->text).has_value());
  wish.text = plan->text;
  const auto again = PlanDocker(wish);
  CHECK(again.has_value());
  CHECK(EffectiveDocker(again->text).value() == EffectiveDocker(plan->text).value());
}

}  // namespace
}  // namespace gantry::container

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  gantry::container::Fuzz(std::string(reinterpret_cast<const char*>(bytes), size));
  return 0;
}
