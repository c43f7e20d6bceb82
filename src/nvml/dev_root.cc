// SPDX-License-Identifier: Apache-2.0
// How does a process in a container see device nodes and the kernel module's /proc files that
// appeared after its start? In a mount namespace of its own, where the host's /dev and /proc/driver
// cover the container's.
#include "nvml/dev_root.h"

#include <sched.h>
#include <sys/mount.h>

namespace gantry::nvml {

void EnterDevRoot(const std::string& root) {
  if (root.empty() || root == "/" || unshare(CLONE_NEWNS) != 0) {
    return;
  }
  if (mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) {
    mount((root + "/dev").c_str(), "/dev", nullptr, MS_BIND | MS_REC, nullptr);
    mount((root + "/proc/driver").c_str(), "/proc/driver", nullptr, MS_BIND | MS_REC, nullptr);
  }
}

}  // namespace gantry::nvml
