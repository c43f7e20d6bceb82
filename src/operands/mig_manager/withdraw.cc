// SPDX-License-Identifier: Apache-2.0
// When do containers get the GPUs again?
#include "operands/mig_manager/withdraw.h"

#include "base/log.h"

namespace gantry::mig_manager {
namespace {

// The device plugin reads the GPUs and writes its CDI document.
constexpr std::chrono::seconds kReadersTakeUp(5);

}  // namespace

Status GiveBackAfter(const Journal& journal, const gpu::OwnersWriter& owners) {
  TRY_ASSIGN(const auto before, journal.Before());
  if (before.has_value()) {
    return {};
  }
  TRY_ASSIGN(const bool taken_up, owners.GiveBack(kReadersTakeUp));
  if (!taken_up) {
    log::Warning("the GPUs are given back, and not offered again after {} s",
                 kReadersTakeUp.count());
  }
  return {};
}

}  // namespace gantry::mig_manager
