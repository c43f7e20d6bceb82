// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "container/cdi.h"

// The hooks of a CDI document: what is done in a container before its program starts.
namespace gantry::container {

// The program on the host that the hooks call.
struct HookProgram {
  std::string path;  // "/usr/local/nvidia/toolkit/nvidia-cdi-hook"; empty: documents get no hook
  // It is Gantry's (hook_program.h). Any other program gets the hooks and flags that NVIDIA's
  // programs have since 1.17.8; Gantry's has them too.
  bool ours = false;
};

// NVIDIA's names of disabled hooks ("all": every one), and those that stay enabled.
struct HookSwitches {
  std::vector<std::string> disabled;
  std::vector<std::string> enabled;
};

struct HookLink {
  std::string target;
  std::string path;
};

struct HookLibrary {
  std::string soname;
  std::string path;
};

// The work to do, by NVIDIA's names of hooks.
struct HookWork {
  // create-symlinks
  std::vector<HookLink> links;
  std::vector<HookLink> device_links = {};  // to device nodes that only some containers get
  // enable-cuda-compat; without a driver version the image's CUDA is not compared.
  std::string driver_version = {};
  std::string cuda_version = {};
  std::string compat_folder = {};  // empty: the default
  // update-ldcache. Also links the libraries by their SONAMEs, which create-symlinks does if
  // update-ldcache is disabled. Libraries in the folders are looked up at every start.
  std::vector<HookLibrary> libraries = {};
  std::vector<std::string> folders = {};
  bool disable_device_node_modification = false;
  bool update_application_profile = false;
};

// The hooks that do the work: one call of Gantry's program, else one for each of NVIDIA's hooks.
std::vector<CdiHook> HooksFor(const HookProgram& program, const HookSwitches& switches,
                              const HookWork& work);

// The arguments of a call of the hook `name`: the program's name and the hook's, with `hook`
// between them for nvidia-ctk, where hooks are a subcommand.
std::vector<std::string> HookWords(const std::string& program_path, std::string_view name);

}  // namespace gantry::container
