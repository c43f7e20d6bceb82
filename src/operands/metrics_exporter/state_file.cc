// SPDX-License-Identifier: Apache-2.0
// What happened before this process began?
#include "operands/metrics_exporter/state_file.h"

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/files.h"
#include "host/status_files.h"

namespace gantry::metrics_exporter {

StateFile::StateFile(const std::string& folder) {
  const auto boot_id = host::BootId();
  if (folder.empty() || !boot_id) {
    return;
  }
  path_ = JoinPath(folder, "events.json");
  boot_id_ = *boot_id;
}

void StateFile::Read(EventLog& events) {
  if (path_.empty()) {
    return;
  }
  const auto text = ReadFile(path_);
  if (!text) {
    if (text.error().kind != ErrorKind::kNotFound) {
      log::Warning("counts begin anew: {}", text.error().message);
    }
    return;
  }
  if (const Status restored = events.Restore(*text, boot_id_); !restored) {
    log::Warning("counts begin anew: {}: {}", path_, restored.error().message);
  }
  written_ = events.version();
}

void StateFile::Write(const EventLog& events) {
  if (path_.empty() || written_ == events.version()) {
    return;
  }
  written_ = events.version();
  Status done;
  if (const auto made = host::MakeDirectories(ParentOf(path_)); !made) {
    done = std::unexpected(made.error());
  } else {
    done = host::WriteFileAtomic(path_, events.Save(boot_id_));
  }
  if (!done && done.error().message != error_) {
    log::Warning("counts will begin anew after a restart: {}", done.error().message);
  }
  error_ = done ? "" : done.error().message;
}

}  // namespace gantry::metrics_exporter
