// SPDX-License-Identifier: Apache-2.0
// How does the running kernel load and unload modules, and mount? libkmod loads modules: it unpacks
// them and resolves their dependencies, and is opened with the first one. Unloads and mounts are
// system calls.
#include "operands/driver/kernel.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/paths.h"
#include "base/text.h"
#include "host/device_nodes.h"
#include "host/files.h"
#include "host/kernel_modules.h"
#include "operands/driver/libkmod.h"
#include "operands/driver/modules.h"

namespace gantry::driver {
namespace {

constexpr int kMostMounts = 64;  // stacked at one path

ErrorKind KindOf(int error_number) {
  switch (error_number) {
    case ENOEXEC:
    case EINVAL:
    case ELIBBAD:
      return ErrorKind::kInvalid;
    case EPERM:
    case EACCES:
    case EKEYREJECTED:
    case ENOKEY:
      return ErrorKind::kDenied;
    case ENOENT:
      return ErrorKind::kNotFound;
    case ENODEV:
      return ErrorKind::kUnsupported;
    default:
      return ErrorKind::kInternal;
  }
}

// The library, opened once and needed until the container ends.
class Library {
 public:
  static Result<Library> Open() {
    Library library;
    library.handle_ = dlopen(libkmod::kName, RTLD_NOW | RTLD_LOCAL);
    if (library.handle_ == nullptr) {
      return Fail(ErrorKind::kNotFound, format("open {}: {}", libkmod::kName, dlerror()));
    }
    return library;
  }

  template <typename Function>
  [[nodiscard]] Result<Function*> Find(const char* name) const {
    if (void* const found = dlsym(handle_, name)) {
      return reinterpret_cast<Function*>(found);
    }
    return Fail(ErrorKind::kUnsupported, format("{} has no {}", libkmod::kName, name));
  }

 private:
  void* handle_ = nullptr;
};

class Modules {
 public:
  static Result<Modules> Open() {
    TRY_ASSIGN(const Library library, Library::Open());
    Modules made;
    TRY_ASSIGN(made.make, library.Find<libkmod::New>("kmod_new"));
    TRY_ASSIGN(made.unref, library.Find<libkmod::Unref>("kmod_unref"));
    TRY_ASSIGN(made.from_path, library.Find<libkmod::ModuleFromPath>("kmod_module_new_from_path"));
    TRY_ASSIGN(made.from_lookup,
               library.Find<libkmod::ModulesFromLookup>("kmod_module_new_from_lookup"));
    TRY_ASSIGN(made.module_unref, library.Find<libkmod::ModuleUnref>("kmod_module_unref"));
    TRY_ASSIGN(made.modules_unref,
               library.Find<libkmod::ModuleUnrefList>("kmod_module_unref_list"));
    TRY_ASSIGN(made.module_of, library.Find<libkmod::ModuleOfEntry>("kmod_module_get_module"));
    TRY_ASSIGN(made.next, library.Find<libkmod::ListNext>("kmod_list_next"));
    TRY_ASSIGN(made.info, library.Find<libkmod::Info>("kmod_module_get_info"));
    TRY_ASSIGN(made.info_free, library.Find<libkmod::InfoFree>("kmod_module_info_free_list"));
    TRY_ASSIGN(made.info_key, library.Find<libkmod::InfoText>("kmod_module_info_get_key"));
    TRY_ASSIGN(made.info_value, library.Find<libkmod::InfoText>("kmod_module_info_get_value"));
    TRY_ASSIGN(made.insert, library.Find<libkmod::Insert>("kmod_module_insert_module"));
    TRY_ASSIGN(made.probe, library.Find<libkmod::Probe>("kmod_module_probe_insert_module"));
    return made;
  }

  libkmod::New* make = nullptr;
  libkmod::Unref* unref = nullptr;
  libkmod::ModuleFromPath* from_path = nullptr;
  libkmod::ModulesFromLookup* from_lookup = nullptr;
  libkmod::ModuleUnref* module_unref = nullptr;
  libkmod::ModuleUnrefList* modules_unref = nullptr;
  libkmod::ModuleOfEntry* module_of = nullptr;
  libkmod::ListNext* next = nullptr;
  libkmod::Info* info = nullptr;
  libkmod::InfoFree* info_free = nullptr;
  libkmod::InfoText* info_key = nullptr;
  libkmod::InfoText* info_value = nullptr;
  libkmod::Insert* insert = nullptr;
  libkmod::Probe* probe = nullptr;
};

class Running final : public Kernel {
 public:
  explicit Running(std::string modules) : modules_(std::move(modules)) {}

  Status Load(const std::string& file, const std::string& parameters) override {
    TRY_ASSIGN(const Modules kmod, Modules::Open());
    constexpr const char* kNoConfig = nullptr;  // no modprobe.d: this program decides
    const std::unique_ptr<kmod_ctx, libkmod::Unref*> context(
        kmod.make(modules_.c_str(), &kNoConfig), kmod.unref);
    kmod_module* found = nullptr;
    const int opened = context ? kmod.from_path(context.get(), file.c_str(), &found) : -ENOMEM;
    if (opened < 0) {
      return FailErrno("open module " + file, -opened);
    }
    const std::unique_ptr<kmod_module, libkmod::ModuleUnref*> module(found, kmod.module_unref);
    TRY(LoadNeeded(kmod, context.get(), module.get()));
    const int inserted = kmod.insert(module.get(), 0, parameters.c_str());
    if (inserted < 0 && inserted != -EEXIST) {
      return Fail(KindOf(-inserted), format("load {}: {}", file, WhyNotLoaded(-inserted)));
    }
    return {};
  }

  Status Unload(const std::string& module) override {
    if (syscall(SYS_delete_module, KernelName(module).c_str(), O_NONBLOCK) == 0 ||
        errno == ENOENT) {
      return {};
    }
    if (errno == EAGAIN || errno == EBUSY) {
      return Fail(ErrorKind::kConflict, format("unload {}: it is in use", module));
    }
    return FailErrno("unload " + module, errno);
  }

  Status Bind(const std::string& tree, const std::string& place) override {
    // Mounts below /sys (control groups) belong to the host; a copy of each, visible on the host,
    // would be one more mount for programs that list its mounts.
    if (tree == "/" && (mount(nullptr, "/sys", nullptr, MS_UNBINDABLE | MS_REC, nullptr) != 0 ||
                        mount(nullptr, "/sys", nullptr, MS_PRIVATE, nullptr) != 0)) {
      return FailErrno("keep /sys out of the driver's root", errno);
    }
    TRY(host::MakeDirectories(place));
    if (mount(tree.c_str(), place.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
      return FailErrno(format("show {} at {}", tree, place), errno);
    }
    return {};
  }

  Status Unbind(const std::string& place) override {
    for (int i = 0; i < kMostMounts; ++i) {
      if (umount2(place.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0) {
        return errno == EINVAL || errno == ENOENT ? Status{} : FailErrno("unmount " + place, errno);
      }
    }
    return Fail(ErrorKind::kInternal, format("unmount {}: there is no end to it", place));
  }

  Status MakeDeviceNodes(const std::string& root) override {
    return host::MakeDeviceNodes(root, root);
  }

 private:
  // The modules that the file names as dependencies and that are not loaded yet.
  Status LoadNeeded(const Modules& kmod, kmod_ctx* context, kmod_module* module) const {
    kmod_list* info = nullptr;
    if (const int read = kmod.info(module, &info); read < 0) {
      return FailErrno("read what a module needs", -read);
    }
    const std::unique_ptr<kmod_list, libkmod::InfoFree*> owner(info, kmod.info_free);
    for (const kmod_list* entry = info; entry != nullptr; entry = kmod.next(info, entry)) {
      if (std::string_view(kmod.info_key(entry)) != "depends") {
        continue;
      }
      for (const std::string& needed : Split(kmod.info_value(entry), ',')) {
        if (!needed.empty()) {
          TRY(LoadByName(kmod, context, KernelName(needed)));
        }
      }
    }
    return {};
  }

  [[nodiscard]] Status LoadByName(const Modules& kmod, kmod_ctx* context,
                                  const std::string& name) const {
    TRY_ASSIGN(const std::vector<host::KernelModule> loaded, host::LoadedModules("/proc"));
    if (std::ranges::any_of(loaded, [&name](const auto& each) { return each.name == name; })) {
      return {};
    }
    kmod_list* found = nullptr;
    if (const int looked = kmod.from_lookup(context, name.c_str(), &found); looked < 0) {
      return FailErrno(format("look for module {} in {}", name, modules_), -looked);
    }
    const std::unique_ptr<kmod_list, libkmod::ModuleUnrefList*> owner(found, kmod.modules_unref);
    if (found == nullptr) {
      return Fail(ErrorKind::kNotFound, format("load {}: it is not in {}", name, modules_));
    }
    for (const kmod_list* entry = found; entry != nullptr; entry = kmod.next(found, entry)) {
      const std::unique_ptr<kmod_module, libkmod::ModuleUnref*> module(kmod.module_of(entry),
                                                                       kmod.module_unref);
      if (const int probed = kmod.probe(module.get(), 0, nullptr, nullptr, nullptr, nullptr);
          probed < 0 && probed != -EEXIST) {
        return Fail(KindOf(-probed), format("load {}: {}", name, WhyNotLoaded(-probed)));
      }
    }
    return {};
  }

  const std::string modules_;
};

}  // namespace

std::string WhyNotLoaded(int error_number) {
  switch (error_number) {
    case ENOEXEC:
    case ELIBBAD:
      return "it was built for another kernel, or its file is damaged";
    case EKEYREJECTED:
    case ENOKEY:
      return "it is not signed with a key that this kernel trusts (Secure Boot)";
    case EPERM:
    case EACCES:
      return "not permitted: the container is not privileged, or the kernel is locked down";
    case ENOENT:
      return "the kernel lacks a symbol that it needs (the kernel's log names it)";
    case EINVAL:
      return "the kernel refuses it or one of its parameters (the kernel's log says which)";
    case ENODEV:
      return "it found no device that it drives";
    default:
      return std::strerror(error_number);
  }
}

std::unique_ptr<Kernel> RunningKernel(std::string modules) {
  return std::make_unique<Running>(std::move(modules));
}

}  // namespace gantry::driver
