// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::container_toolkit {

// The operand: keeps NVIDIA's programs, CDI document and runtimes on the host until SIGTERM, which
// does not undo anything. Exit status 2 for wrong flags, 1 with --no-daemon if something failed.
int RunContainerToolkit(int argc, char** argv);

// Command host-cleanup: undoes every change in the journal, and removes the operands' status files
// and CDI documents. Then makes the file of --done-file (default /tmp/clean), and waits for
// SIGTERM. Exit status 1 if something could not be undone.
int RunHostCleanup(int argc, char** argv);

}  // namespace gantry::container_toolkit
