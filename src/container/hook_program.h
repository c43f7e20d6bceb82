// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

// Whose program is it that a document's hooks call?
namespace gantry::container {

enum class HookMaker {
  kGantry,  // one that has every flag that cdi_hooks.cc writes
  kOther,   // NVIDIA's, a script, or Gantry's of another version
  kAbsent,  // the program does not exist
};

// Reads the program at `path`, as the host spells it, under the host's root as mounted here. Runs
// nothing.
HookMaker MakerOfHook(const std::string& root, const std::string& path);

// The marker that MakerOfHook looks for. A hook program must be linked with it.
const char* HookMarker();

}  // namespace gantry::container
