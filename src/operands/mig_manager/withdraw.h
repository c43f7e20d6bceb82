// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "base/error.h"
#include "gpu/owners_file.h"
#include "operands/mig_manager/journal.h"

namespace gantry::mig_manager {

// As what the manager and nvidia-mig-parted have GPUs: each ends what the other left.
inline constexpr char kOwner[] = "mig-change";

// Readers of the file of owners that are alive let go of a GPU in less: they close the driver.
inline constexpr std::chrono::seconds kReadersLetGo(10);

// Gives the GPUs back, and waits until they are offered again, at most a few seconds. Those of a
// change that is still in the journal stay withdrawn: they are between two layouts. Blocks.
Status GiveBackAfter(const Journal& journal, const gpu::OwnersWriter& owners);

}  // namespace gantry::mig_manager
