// SPDX-License-Identifier: Apache-2.0
// Where are this node's driver, files and modules, seen from a container? The host's root is
// mounted; its links use the host's paths, so they are resolved inside that root.
#include "operands/validator/site.h"

#include <unistd.h>

#include <algorithm>

#include "base/paths.h"
#include "host/driver_root.h"
#include "host/kernel_modules.h"

namespace gantry::validator {

std::string Site::Here(const std::string& host_path) const {
  return ResolveInRoot(flags_.host_root_here, host_path)
      .value_or(JoinPath(flags_.host_root_here, host_path));
}

host::DriverVerdict Site::Driver() const {
  const auto failure = files_.Read(names::kDriverCtrFailed);
  const host::DriverPlaces places = {
      .host_root = flags_.host_root_here,
      .driver_dir = flags_.driver_install_dir,
      .container_ready =
          !flags_.with_driver_container || files_.Read(names::kDriverCtrReady).has_value(),
      .container_failure = failure && failure->contains("MESSAGE") ? failure->at("MESSAGE") : ""};
  host::DriverVerdict verdict = host::JudgeDriver(host::ObserveDriver(places));
  if (verdict.kind == host::DriverKind::kHost) {
    verdict.driver_root = flags_.host_root;
  }
  if (verdict.dev_root == "/") {
    verdict.dev_root = flags_.host_root;
  }
  return verdict;
}

std::string Site::DriverRootHere(const host::DriverVerdict& driver) const {
  return driver.kind == host::DriverKind::kHost ? flags_.host_root_here : Here(driver.driver_root);
}

std::string Site::DevRootHere(const host::DriverVerdict& driver) const {
  return driver.dev_root == flags_.host_root ? flags_.host_root_here : Here(driver.dev_root);
}

std::string Site::Sys() const {
  const std::string host = JoinPath(flags_.host_root_here, "sys");
  return access(JoinPath(host, "bus/pci").c_str(), F_OK) == 0 ? host : "/sys";
}

bool Site::ModuleLoaded(const std::string& module) const {
  // Modules are the machine's: without the host's root, any procfs lists them.
  auto modules = host::LoadedModules(JoinPath(flags_.host_root_here, "proc"));
  if (!modules) {
    modules = host::LoadedModules("/proc");
  }
  return modules && std::ranges::any_of(*modules, [&module](const host::KernelModule& each) {
           return each.name == module && each.live;
         });
}

std::vector<std::string> Site::Probe(const std::string& question) {
  return {"/proc/self/exe", kProgram, "--probe", question};
}

}  // namespace gantry::validator
