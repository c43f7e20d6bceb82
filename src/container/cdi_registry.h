// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "container/cdi.h"

namespace gantry::container {

// The documents of the given kinds in folders of CDI files (".json" and ".yaml"), of all kinds if
// none is given; a later folder counts more, as CDI has it. A file that cannot be read is left out,
// with a line in `warnings`.
std::vector<CdiSpec> LoadCdi(const std::vector<std::string>& folders,
                             const std::vector<std::string>& kinds,
                             std::vector<std::string>& warnings);

// The edits for a device: those of its document and its own. Looked up under the kinds in their
// order. The device "none" gives the document's common edits alone. kNotFound names the device.
Result<CdiEdits> ResolveDevice(const std::vector<CdiSpec>& specs,
                               const std::vector<std::string>& kinds, const std::string& device);

}  // namespace gantry::container
