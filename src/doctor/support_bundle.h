// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::doctor {

// Command support-bundle: one .tar.gz with what a report of a fault needs: the policy, the
// operator's and the operands' objects, pods, logs, events, nodes, node features, ConfigMaps,
// versions, and what doctor and status say; nothing of Secrets but their names. What can't be read
// is named in errors.txt of it and does not stop the rest. Exit code 0: the bundle was written, 2:
// it was not.
int RunSupportBundle(int argc, char** argv);

}  // namespace gantry::doctor
