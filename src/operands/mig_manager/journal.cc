// SPDX-License-Identifier: Apache-2.0
// What was there before the change that was cut off?
#include "operands/mig_manager/journal.h"

#include "base/log.h"
#include "base/paths.h"
#include "host/files.h"
#include "host/lock.h"
#include "host/status_files.h"

namespace gantry::mig_manager {

Result<Fd> Journal::Lock(std::chrono::milliseconds limit) const {
  auto locked = host::LockFile(path_ + ".lock", limit);
  return locked.has_value()
             ? std::move(locked)
             : std::unexpected(locked.error().In("wait for another change of the MIG layout"));
}

Result<std::optional<Json>> Journal::Before() const {
  const auto text = ReadFile(path_);
  if (!text.has_value()) {
    return text.error().kind == ErrorKind::kNotFound ? Result<std::optional<Json>>(std::nullopt)
                                                     : std::unexpected(text.error());
  }
  const auto entry = ParseJson(*text);
  const Json* checkpoint = entry.has_value() ? At(*entry, {"checkpoint"}) : nullptr;
  if (checkpoint == nullptr) {
    log::Warning("{}: not a journal of a MIG change; ignored", path_);
    return std::nullopt;
  }
  TRY_ASSIGN(const std::string boot, host::BootId());
  return TextAt(*entry, "boot") == boot ? std::optional(*checkpoint) : std::nullopt;
}

Status Journal::Begin(const Json& checkpoint) const {
  TRY_ASSIGN(const std::string boot, host::BootId());
  TRY(host::MakeDirectories(ParentOf(path_)));
  const Json entry = {{"boot", boot}, {"checkpoint", checkpoint}};
  return host::WriteFileAtomic(path_, entry.dump() + "\n", 0600);
}

Status Journal::End() const { return host::RemoveFile(path_); }

}  // namespace gantry::mig_manager
