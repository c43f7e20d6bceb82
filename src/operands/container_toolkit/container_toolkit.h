// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::container_toolkit {

// The operand: keeps NVIDIA's programs, CDI document and runtimes on the host until SIGTERM, which
// undoes nothing. Exit status 2 for wrong flags, 1 with --no-daemon if something failed.
int RunContainerToolkit(int argc, char** argv);

// The end of it: takes everything back that the journal knows of, then the status files and CDI
// documents of the operands; makes the file given by --done-file (default /tmp/clean) when the host
// is as before, and waits for SIGTERM. Exit status 1 if something could not be taken back.
int RunHostCleanup(int argc, char** argv);

}  // namespace gantry::container_toolkit
