// SPDX-License-Identifier: Apache-2.0
// How do the MPS server and its clients, each in a container, share memory? In a tmpfs that all of
// them have as /dev/shm.
#include "operands/device_plugin/mps_control_daemon/mps_shm.h"

#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/paths.h"
#include "host/files.h"
#include "operands/device_plugin/allocate.h"
#include "operands/device_plugin/mps_control_daemon/mps_plan.h"

namespace gantry::device_plugin {
namespace {

Result<bool> IsMounted(const std::string& folder) {
  struct stat here{};
  struct stat above{};
  if (stat(folder.c_str(), &here) != 0 || stat(ParentOf(folder).c_str(), &above) != 0) {
    return FailErrno("look at " + folder, errno);
  }
  return here.st_dev != above.st_dev;
}

}  // namespace

Result<bool> MountMpsShm(const std::string& mps_root) {
  const auto folder = JoinPath(mps_root, kMpsShm);
  TRY(host::MakeDirectories(folder, 0755));
  TRY_ASSIGN(const bool mounted, IsMounted(folder));
  if (mounted) {
    return false;
  }
  TRY_ASSIGN(const auto meminfo, ReadFile("/proc/meminfo"));
  if (mount("shm", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RELATIME,
            MpsShmOptions(meminfo).c_str()) != 0) {
    return FailErrno("mount memory on " + folder, errno);
  }
  return true;
}

}  // namespace gantry::device_plugin
