// SPDX-License-Identifier: Apache-2.0
// Where is it written down which driver a function had before?
#include "operands/vfio_manager/journal.h"

#include "host/files.h"
#include "host/lock.h"
#include "host/status_files.h"
#include "operands/vfio_manager/journal_text.h"

namespace gantry::vfio_manager {

Result<Fd> JournalFile::Lock(std::chrono::milliseconds limit) const {
  auto locked = host::LockFile(path_ + ".lock", limit);
  return locked.has_value()
             ? std::move(locked)
             : std::unexpected(locked.error().In("wait for another program that binds GPUs"));
}

Result<Journal> JournalFile::Read() const {
  const auto text = ReadFile(path_);
  if (!text.has_value()) {
    return text.error().kind == ErrorKind::kNotFound ? Result<Journal>(Journal())
                                                     : std::unexpected(text.error());
  }
  TRY_ASSIGN(const std::string boot, host::BootId());
  auto journal = ParseJournal(*text, boot);
  return journal.has_value() ? std::move(journal)
                             : std::unexpected(journal.error().In("read " + path_));
}

Status JournalFile::Write(const Journal& journal) const {
  if (journal.empty()) {
    return host::RemoveFile(path_);
  }
  TRY_ASSIGN(const std::string boot, host::BootId());
  TRY(host::MakeDirectories(ParentOf(path_)));
  TRY(host::WriteIfDifferent(path_, JournalText(journal, boot), 0600));
  return {};
}

}  // namespace gantry::vfio_manager
