// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "doctor/container_facts.h"
#include "doctor/finding.h"

namespace gantry::doctor {

// Whether a container waits for its image.
bool WaitsForImage(const ContainerFacts& container);

// Why the image of a waiting container is not pulled; without an object yet.
Finding NotPulled(const ContainerFacts& container);

}  // namespace gantry::doctor
