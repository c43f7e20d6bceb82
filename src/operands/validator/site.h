// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "host/driver_verdict.h"
#include "host/status_files.h"
#include "operands/validator/flags.h"

namespace gantry::validator {

// Owner of status files, and this program's name.

// The node to check, as this process sees it. Flags and files outlive it.
class Site {
 public:
  Site(const Flags& flags, const host::StatusFiles& files) : flags_(flags), files_(files) {}

  [[nodiscard]] const Flags& flags() const { return flags_; }
  [[nodiscard]] const host::StatusFiles& files() const { return files_; }

  // A host path as this process spells it, links resolved inside the host's root.
  [[nodiscard]] std::string Here(const std::string& host_path) const;
  // This node's driver; paths "on the host" as the flags spell the host's root.
  [[nodiscard]] host::DriverVerdict Driver() const;
  // The root of that driver, as this process spells it.
  [[nodiscard]] std::string DriverRootHere(const host::DriverVerdict& driver) const;
  // The root of that driver's dev directory, likewise; also of an unusable driver.
  [[nodiscard]] std::string DevRootHere(const host::DriverVerdict& driver) const;
  // The sysfs to read: the host's, or this container's if the host's is not mounted. Both show the
  // machine's PCI functions.
  [[nodiscard]] std::string Sys() const;
  // Whether a kernel module is loaded; procfs sends no events.
  [[nodiscard]] bool ModuleLoaded(const std::string& module) const;
  // This program, started to answer one question (probe.h).
  [[nodiscard]] static std::vector<std::string> Probe(const std::string& question);

 private:
  const Flags& flags_;
  const host::StatusFiles& files_;
};

}  // namespace gantry::validator
