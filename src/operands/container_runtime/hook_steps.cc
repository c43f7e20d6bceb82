// SPDX-License-Identifier: Apache-2.0
// Is a failed step of the hook an error for the container, or a warning?
#include "operands/container_runtime/hook_steps.h"

#include <algorithm>

#include "base/text.h"
#include "container/capabilities.h"

namespace gantry::container_runtime {

Status Settle(HookStep step, const Status& done, std::vector<std::string>& warnings) {
  const auto rule = std::ranges::find(kHookSteps, step, &HookStepRule::step);
  if (done.has_value() || rule->necessary) {
    return done;
  }
  warnings.push_back(
      format("{}; the container starts without {}", done.error().message, rule->without));
  return {};
}

HookStep StepOf(const SymbolicLink& link) {
  using container::Capabilities;
  constexpr unsigned kPicture = Capabilities::kGraphics | Capabilities::kDisplay;
  const bool draws = !container::CapabilitiesOf(link.path).Has(Capabilities::kAll & ~kPicture);
  return draws ? HookStep::kGraphicsLinks : HookStep::kDriverLinks;
}

}  // namespace gantry::container_runtime
