// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/cluster_policy.h"

namespace gantry::policy {

class SpecSection;

// Each reads a section into `out`; absent fields do not change it. The section keeps a mistake,
// with its field.
void ReadOperand(const SpecSection& section, OperandSpec& out);
void ReadDriverManager(const SpecSection& section, DriverManagerSpec& out);
void ReadProbe(const SpecSection& section, ProbeSpec& out);

}  // namespace gantry::policy
