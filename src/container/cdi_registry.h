// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "container/cdi.h"

namespace gantry::container {

// The CDI documents of a node, by the rules of containerd and CRI-O.
struct CdiRegistry {
  std::vector<CdiSpec> specs;  // those with precedence first
  // Devices that two files of one folder have, by their full names ("nvidia.com/gpu=0"), with a
  // sentence that names both: no container can have them.
  std::map<std::string, std::string> conflicts;
};

// The documents of the given kinds (all if none is given) in folders of CDI files (".json" and
// ".yaml"). A later folder has precedence, as CDI says. A file that cannot be read or breaks a rule
// of CDI (cdi_rules.h) is left out, with a line in `warnings`, which also names conflicts.
CdiRegistry LoadCdi(const std::vector<std::string>& folders, const std::vector<std::string>& kinds,
                    std::vector<std::string>& warnings);

// The edits for a device: those of its document and its own. Looks under the kinds in their order.
// The device "none" gets the document's common edits only. kNotFound names the device, kInvalid the
// two files that have it.
Result<CdiEdits> ResolveDevice(const CdiRegistry& registry, const std::vector<std::string>& kinds,
                               const std::string& device);

}  // namespace gantry::container
