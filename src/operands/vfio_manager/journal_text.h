// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "operands/vfio_manager/plan.h"

namespace gantry::vfio_manager {

// The text of the journal's file; `boot_id` as host::BootId() gives it.
std::string JournalText(const Journal& journal, const std::string& boot_id);
// An empty journal, if the file is of another boot: no binding outlives the kernel. kInvalid: it is
// none.
Result<Journal> ParseJournal(std::string_view text, const std::string& boot_id);

}  // namespace gantry::vfio_manager
