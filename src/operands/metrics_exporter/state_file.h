// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "operands/metrics_exporter/events.h"

namespace gantry::metrics_exporter {

// Where the events of an exporter that was killed are found by the next one. A mistake costs the
// state and a line of the log, nothing else.
class StateFile {
 public:
  // `folder` empty: there is none.
  explicit StateFile(const std::string& folder);

  void Read(EventLog& events);
  // Writes it in one step if something has happened since.
  void Write(const EventLog& events);

 private:
  std::string path_;
  std::string boot_id_;
  uint64_t written_ = 0;  // the log's version
  std::string error_;     // as last logged
};

}  // namespace gantry::metrics_exporter
