// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

// Whose program is it that a document's hooks call?
namespace gantry::container {

enum class HookMaker {
  kGantry,  // one that knows every flag that cdi_hooks.cc writes
  kOther,   // NVIDIA's, a script, or Gantry's of another time
  kAbsent,  // no program is there
};

// Looks at the program at `path`, as the host spells it, under the host's root as mounted here.
// Reads the file; nothing is run.
HookMaker MakerOfHook(const std::string& root, const std::string& path);

// What MakerOfHook looks for in a file. A hook program has to be linked with it.
const char* HookMarker();

}  // namespace gantry::container
