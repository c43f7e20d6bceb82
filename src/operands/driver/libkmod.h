// SPDX-License-Identifier: Apache-2.0
#pragma once

// The used functions of libkmod.so.2 (kmod 5 and later), as its header declares them. Only the
// driver container opens the library, so no other operand needs it in its image.
struct kmod_ctx;
struct kmod_list;
struct kmod_module;

namespace gantry::driver::libkmod {

inline constexpr char kName[] = "libkmod.so.2";

using New = kmod_ctx*(const char* directory, const char* const* config_paths);
using Unref = kmod_ctx*(kmod_ctx* context);
using ModuleFromPath = int(kmod_ctx* context, const char* path, kmod_module** module);
using ModulesFromLookup = int(kmod_ctx* context, const char* alias, kmod_list** modules);
using ModuleUnref = kmod_module*(kmod_module* module);
using ModuleUnrefList = int(kmod_list* modules);
using ModuleOfEntry = kmod_module*(const kmod_list* entry);
using ListNext = kmod_list*(const kmod_list* list, const kmod_list* entry);
using Info = int(const kmod_module* module, kmod_list** info);
using InfoFree = void(kmod_list* info);
using InfoText = const char*(const kmod_list* entry);
using Insert = int(kmod_module* module, unsigned flags, const char* options);
using Probe = int(kmod_module* module, unsigned flags, const char* options,
                  int (*run_install)(kmod_module*, const char*, void*), const void* data,
                  void (*print_action)(kmod_module*, bool, const char*));

}  // namespace gantry::driver::libkmod
