// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/json.h"

namespace gantry::policy {

// NVIDIA's images of operands that Gantry does not have, by section of a ClusterPolicy's spec:
// "nvcr.io/nvidia/driver". One with a tag or digest is also the default of an empty section, like
// the variables DRIVER_IMAGE, MIG_MANAGER_IMAGE, ... of NVIDIA's operator.
using KnownImages = std::map<std::string, std::string>;

// The ClusterPolicy with a full reference in each such section without repository and image: a
// version alone is the known image's.
Json WithKnownImages(Json policy, const KnownImages& known);

}  // namespace gantry::policy
