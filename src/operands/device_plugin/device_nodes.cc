// SPDX-License-Identifier: Apache-2.0
// Which device nodes can NVML open from here? Those in this container's own /dev, which the runtime
// filled when the container was made: before the driver was loaded, if it came first.
#include "operands/device_plugin/device_nodes.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/paths.h"

namespace gantry::device_plugin {

Result<std::set<std::string>> MirrorDeviceNodes(const std::string& from, const std::string& to) {
  std::set<std::string> made;
  TRY_ASSIGN(const auto names, ListDirectory(from));
  for (const auto& name : names) {
    struct stat theirs{};
    const auto source = JoinPath(from, name);
    if (!name.starts_with("nvidia") || stat(source.c_str(), &theirs) != 0 ||
        !S_ISCHR(theirs.st_mode)) {
      continue;
    }
    const auto target = JoinPath(to, name);
    if (mknod(target.c_str(), theirs.st_mode, theirs.st_rdev) == 0) {
      // mknod takes the umask off.
      if (chmod(target.c_str(), theirs.st_mode & 07777U) != 0) {
        return FailErrno("set the mode of " + target, errno);
      }
      made.insert(name);
    } else if (errno != EEXIST) {
      return FailErrno("make device node " + target, errno);
    }
  }
  return made;
}

}  // namespace gantry::device_plugin
