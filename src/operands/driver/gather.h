// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "operands/driver/install_plan.h"

// Looks at what an installation decides by. Only reads, and starts dpkg-deb for each .deb.
namespace gantry::driver {

// `digest`: of the settings of now, DRIVER_CONFIG_DIGEST; empty: none is known.
InstallFacts GatherFacts(const Options& options, const std::string& digest);

// Where the node's own modules lie, as this process spells it: /lib/modules/<release> below the
// root, or below that of the node's first process, which a container of the host's PID namespace
// sees.
std::string KernelModulesFolder(const Options& options);

// Module name -> path, of the module files in a folder and below it.
std::map<std::string, std::string> ModuleFiles(const std::string& folder);

// Module name -> parameters, of the NAME.conf files in the options' folder. kInvalid names a file
// that can't be used.
Result<std::map<std::string, std::string>> GivenParameters(const Options& options);

// Where it is said with which settings the loaded driver was loaded (NVIDIA's driver manager reads
// it), and which process is the driver's container.
std::string StateFile(const Options& options);
std::string PidFile(const Options& options);
// Where the driver's root is shown.
std::string DriverPlace(const Options& options);

}  // namespace gantry::driver
