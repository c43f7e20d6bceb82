// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::dcgmi {

// `dcgmi`: what people and scripts ask DCGM's tool for, answered by the exporter of this node.
int RunDcgmi(int argc, char** argv);

}  // namespace gantry::dcgmi
