// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "host/driver_verdict.h"
#include "host/status_files.h"
#include "operands/validator/flags.h"

namespace gantry::validator {

// Owner of status files, and the name that this program goes by.

// The node that is checked, as this process sees it. Flags and files outlive it.
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
  // What holds the dev directory of that driver, likewise; also of one that is not usable.
  [[nodiscard]] std::string DevRootHere(const host::DriverVerdict& driver) const;
  // The sysfs to read: the host's, or where nothing of the host is mounted our own. PCI functions
  // are the machine's.
  [[nodiscard]] std::string Sys() const;
  // Whether a kernel module is loaded; procfs tells no changes.
  [[nodiscard]] bool ModuleLoaded(const std::string& module) const;
  // This program, started to answer one question (probe.h).
  [[nodiscard]] static std::vector<std::string> Probe(const std::string& question);

 private:
  const Flags& flags_;
  const host::StatusFiles& files_;
};

}  // namespace gantry::validator
