// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "operands/driver/install_plan.h"

// Reads the facts for an installation. Only reads, and starts dpkg-deb for each .deb.
namespace gantry::driver {

// `digest`: DRIVER_CONFIG_DIGEST of the present settings; empty: unknown.
InstallFacts GatherFacts(const Flags& flags, const std::string& digest);

// The folder of the node's own modules, as this process spells it: /lib/modules/<release> below the
// root, or below that of the node's first process, which a container in the host's PID namespace
// sees.
std::string KernelModulesFolder(const Flags& flags);

// Module name -> path, of the module files in a folder and below it.
std::map<std::string, std::string> ModuleFiles(const std::string& folder);

// Module name -> parameters, of the NAME.conf files in the flags' folder. kInvalid names a file
// that can't be used.
Result<std::map<std::string, std::string>> GivenParameters(const Flags& flags);

// The file with the settings that the driver was loaded with (NVIDIA's driver manager reads it),
// and with the process of the driver's container.
std::string StateFile(const Flags& flags);
std::string PidFile(const Flags& flags);
// Where the driver's root is mounted for others.
std::string DriverPlace(const Flags& flags);

}  // namespace gantry::driver
