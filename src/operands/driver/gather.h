// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "operands/driver/install_plan.h"

// Looks at what an installation decides by. Only reads, and starts dpkg-deb for each .deb.
namespace gantry::driver {

// `digest`: of the settings of now, DRIVER_CONFIG_DIGEST; empty: none is known.
InstallFacts GatherFacts(const Flags& flags, const std::string& digest);

// Where the node's own modules lie, as this process spells it: /lib/modules/<release> below the
// root, or below that of the node's first process, which a container of the host's PID namespace
// sees.
std::string KernelModulesFolder(const Flags& flags);

// Module name -> path, of the module files in a folder and below it.
std::map<std::string, std::string> ModuleFiles(const std::string& folder);

// Module name -> parameters, of the NAME.conf files in the flags' folder. kInvalid names a file
// that can't be used.
Result<std::map<std::string, std::string>> GivenParameters(const Flags& flags);

// Where it is said with which settings the loaded driver was loaded (NVIDIA's driver manager reads
// it), and which process is the driver's container.
std::string StateFile(const Flags& flags);
std::string PidFile(const Flags& flags);
// Where the driver's root is shown.
std::string DriverPlace(const Flags& flags);

}  // namespace gantry::driver
