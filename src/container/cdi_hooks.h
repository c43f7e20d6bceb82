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
  std::string path;  // "/usr/local/nvidia/toolkit/nvidia-cdi-hook"; empty: documents have no hook
  // It was seen to be Gantry's (hook_program.h). Any other gets hooks by the names and flags that
  // NVIDIA's programs know from 1.17.8 on, which Gantry's knows as well.
  bool ours = false;
};

// NVIDIA's names of hooks that are left out ("all": every one), and those that stay all the same.
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

// What is to be done, by NVIDIA's names of hooks.
struct HookWork {
  // create-symlinks
  std::vector<HookLink> links;
  std::vector<HookLink> device_links = {};  // to device nodes that not every container gets
  // enable-cuda-compat; without a driver version the image's CUDA is not compared.
  std::string driver_version = {};
  std::string cuda_version = {};
  std::string compat_folder = {};  // empty: the usual
  // update-ldcache. The libraries are linked by their SONAMEs too, which create-symlinks does if
  // update-ldcache is switched off; in the folders they are looked for at every start.
  std::vector<HookLibrary> libraries = {};
  std::vector<std::string> folders = {};
  bool disable_device_node_modification = false;
  bool update_application_profile = false;
};

// The hooks that do the work: one call of a program of ours, else one for each of NVIDIA's hooks.
std::vector<CdiHook> HooksFor(const HookProgram& program, const HookSwitches& switches,
                              const HookWork& work);

// The words of a call of the hook `name`: its program's name and its own, and between them the word
// `hook` for nvidia-ctk, of which hooks are a sub-command.
std::vector<std::string> HookWords(const std::string& program_path, std::string_view name);

}  // namespace gantry::container
