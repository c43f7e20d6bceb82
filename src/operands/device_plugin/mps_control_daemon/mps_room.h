// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace gantry::device_plugin {

// Where NVIDIA's MPS programs run: the driver's file tree as they know it, with the MPS root at
// /mps, and the memory that they share with their clients at /dev/shm. Made in a mount namespace of
// the process alone, on a folder of the MPS root; nothing of it is seen outside.
struct MpsRoom {
  struct Step {
    // A kTree is bound if it can be: a host may have a folder that nobody can look into.
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

// Of a driver root, the folder that holds its dev/, and the MPS root, each as seen here. Makes the
// folder that the room is built on. kNotFound names what is missing.
Result<MpsRoom> PlanMpsRoom(const std::string& driver_root, const std::string& dev_root,
                            const std::string& mps_root);

// In a forked child: system calls only. Null, or the path that failed, with errno set. Needs
// CAP_SYS_ADMIN.
const char* EnterMpsRoom(const MpsRoom& room);

}  // namespace gantry::device_plugin
