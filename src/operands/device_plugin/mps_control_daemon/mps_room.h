// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace gantry::device_plugin {

// The root file system of NVIDIA's MPS programs: the driver root, with the MPS root at /mps, and
// the memory shared with their clients at /dev/shm. Made in a mount namespace of the process alone,
// on a folder of the MPS root, and invisible outside.
struct MpsRoom {
  struct Step {
    // A kTree is bound if possible: a host may have an unreadable folder.
    enum class Kind { kFolder, kLink, kBind, kTree };
    Kind kind = Kind::kFolder;
    std::string source;  // of a link: its target
    std::string target;
    bool operator==(const Step&) const = default;
  };
  std::string folder;       // becomes the root
  std::vector<Step> steps;  // in order
  std::string program;      // nvidia-cuda-mps-control, inside
};

// The room for a driver root, the folder that holds its dev/, and the MPS root, each as seen here.
// Makes the folder that the room is built on. kNotFound names what is missing.
Result<MpsRoom> PlanMpsRoom(const std::string& driver_root, const std::string& dev_root,
                            const std::string& mps_root);

// In a forked child: system calls only. Null, or the path that failed, with errno set. Needs
// CAP_SYS_ADMIN.
const char* EnterMpsRoom(const MpsRoom& room);

}  // namespace gantry::device_plugin
