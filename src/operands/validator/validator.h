// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::validator {

// Command nvidia-validator: validates this node's GPU stack, stage by stage. Without --component it
// runs until SIGTERM and keeps the status files up to date; with it, one stage, exit code 0 or 1.
int RunValidator(int argc, char** argv);

}  // namespace gantry::validator
