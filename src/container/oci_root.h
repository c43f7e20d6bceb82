// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gantry::container {

// `root.path` of an OCI configuration (config.json of a bundle); empty if it has none or is not a
// JSON object. Skips everything else: a configuration with its seccomp profile has 20 to 100 KB,
// and a hook needs only this line.
std::string OciRootPath(std::string_view config);

}  // namespace gantry::container
