// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::doctor {

// Command support-bundle: one .tar.gz for a bug report: the policy, the operator's and the
// operands' objects, pods, logs, events, nodes, node features, ConfigMaps, versions, and the output
// of doctor and status; of Secrets only the names. Its errors.txt names unreadable parts, which do
// not stop the rest. Exit code 0: the bundle was written, 2: it was not.
int RunSupportBundle(int argc, char** argv);

}  // namespace gantry::doctor
