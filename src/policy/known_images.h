// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/json.h"

namespace gantry::policy {

// NVIDIA's images of operands that only they have, by section of a ClusterPolicy's spec:
// "nvcr.io/nvidia/driver". With a tag or a digest one is also what runs where the section names
// nothing, as with the variables DRIVER_IMAGE and MIG_MANAGER_IMAGE of NVIDIA's operator.
using KnownImages = std::map<std::string, std::string>;

// The ClusterPolicy with a full reference in each such section that names neither repository nor
// image: a version alone is that of the known image.
Json WithKnownImages(Json policy, const KnownImages& known);

}  // namespace gantry::policy
