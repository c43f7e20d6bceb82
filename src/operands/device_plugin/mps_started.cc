// SPDX-License-Identifier: Apache-2.0
// Does the MPS control daemon of a resource accept clients? Upstream's file stays after its writer
// was killed, and pods would get shares that no daemon serves.
#include "operands/device_plugin/mps_started.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace gantry::device_plugin {
namespace {

std::string PathIn(const std::string& folder) { return JoinPath(folder, ".started"); }

}  // namespace

Result<MpsStarted> MpsStarted::Claim(const std::string& folder) {
  auto path = PathIn(folder);
  Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (!file.valid() || fcntl(file.get(), F_OFD_SETLK, &lock) != 0) {
    return FailErrno("hold " + path, errno);
  }
  // Watchers check a file again when it is written and closed; by then the lock exists.
  const Fd told(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return MpsStarted(std::move(path), std::move(file));
}

MpsStarted::~MpsStarted() {
  if (file_.valid()) {
    unlink(path_.c_str());
  }
}

bool MpsIsStarted(const std::string& folder) {
  const Fd file(open(PathIn(folder).c_str(), O_RDONLY | O_CLOEXEC));
  struct flock lock{};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  return file.valid() && fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

}  // namespace gantry::device_plugin
