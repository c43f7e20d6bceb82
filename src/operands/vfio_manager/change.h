// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "operands/vfio_manager/kernel.h"
#include "operands/vfio_manager/places.h"
#include "operands/vfio_manager/plan.h"

namespace gantry::vfio_manager {

// A group that is not as asked.
struct Problem {
  std::string name;  // of its plan
  Refusal refusal;
};

// What one pass did, and how the groups are.
struct Pass {
  std::string acted;              // the name of the group that it changed, or tried to; empty: none
  std::vector<std::string> gpus;  // the devices that are as asked
  std::vector<Problem> problems;  // the groups that are refused, and the one that failed
  std::vector<std::string> others;  // groups that are still to be changed
};
std::string PassText(const Pass& pass);
Result<Pass> ParsePass(std::string_view text);

// Names of groups that are not to be tried again.
using Tried = std::set<std::string>;

// Looks at all groups, and changes the first that is not as asked and not in `tried`. A change that
// fails is taken back. Killed at any point, the next pass on this node ends the change or takes it
// back. Blocks while a device that is unbound is in use: for a process that can be given up.
Result<Pass> BindOne(const Places& places, Kernel& kernel, const Selection& selection,
                     const Tried& tried);
// The same for giving back what the journal names; with `selection` also devices that a driver for
// virtual machines has without the journal's knowledge.
Result<Pass> RestoreOne(const Places& places, Kernel& kernel,
                        const std::optional<Selection>& selection, const Tried& tried);

// Passes until none changes anything. The result has no `acted` and no `others`.
Result<Pass> AllPasses(const std::function<Result<Pass>(const Tried& tried)>& one);

// "GPU 0000:3b:00.0 (IOMMU group 57): it is in use by ..."; empty: all is as asked.
std::string ProblemsText(const Pass& pass);

}  // namespace gantry::vfio_manager
