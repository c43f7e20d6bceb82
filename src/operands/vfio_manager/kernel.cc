// SPDX-License-Identifier: Apache-2.0
// How is the running kernel changed? By writes to sysfs, and by the host's modprobe, which knows
// the node's modules and their options.
#include "operands/vfio_manager/kernel.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "base/paths.h"
#include "base/text.h"
#include "host/processes.h"

namespace gantry::vfio_manager {
namespace {

constexpr std::chrono::seconds kLoadLimit(30);

class MachineKernel final : public Kernel {
 public:
  explicit MachineKernel(std::string host_root) : host_root_(std::move(host_root)) {}

  Status Write(const std::string& path, std::string_view text) override {
    const std::string what = format("write {} to {}", Trim(text), path);
    const Fd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.valid()) {
      return FailErrno(what, errno);
    }
    if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      return FailErrno(what, errno);
    }
    return {};
  }

  Status Load(const std::string& module) override {
    const auto run = [&](const char* program) {
      return host::RunProgram({.words = {program, module},
                               .root = host_root_ == "/" ? "" : host_root_,
                               .limit = kLoadLimit});
    };
    auto done = run("/sbin/modprobe");
    if (!done.has_value() && done.error().kind == ErrorKind::kNotFound) {
      done = run("/usr/sbin/modprobe");
    }
    TRY_ASSIGN(const host::Finished finished, std::move(done));
    return finished.exit_status == 0
               ? Status()
               : Fail(ErrorKind::kUnsupported,
                      format("modprobe {}: {}", module, Trim(finished.errors)));
  }

 private:
  const std::string host_root_;
};

}  // namespace

std::unique_ptr<Kernel> RunningKernel(std::string host_root) {
  return std::make_unique<MachineKernel>(std::move(host_root));
}

}  // namespace gantry::vfio_manager
