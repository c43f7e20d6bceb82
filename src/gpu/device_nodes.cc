// SPDX-License-Identifier: Apache-2.0
// Which device nodes can NVML open from here? Those in this container's own /dev, which the runtime
// filled when it created the container: perhaps before the driver was loaded.
#include "gpu/device_nodes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/paths.h"
#include "base/text.h"

namespace gantry::gpu {

namespace {

// Adds the paths of the nodes that it makes.
Status Mirror(const std::string& from, const std::string& to, std::set<std::string>& made) {
  TRY_ASSIGN(const auto names, ListDirectory(from));
  for (const auto& name : names) {
    struct stat theirs{};
    const auto source = JoinPath(from, name);
    if (!name.starts_with("nvidia") || stat(source.c_str(), &theirs) != 0) {
      continue;
    }
    const auto target = JoinPath(to, name);
    if (S_ISDIR(theirs.st_mode)) {
      // nvidia-caps: MIG devices; nvidia-caps-imex-channels.
      if (mkdir(target.c_str(), 0755) != 0 && errno != EEXIST) {
        return FailErrno("make folder " + target, errno);
      }
      TRY(Mirror(source, target, made));
    } else if (S_ISCHR(theirs.st_mode)) {
      if (struct stat ours{}; stat(target.c_str(), &ours) == 0) {
        if (!S_ISCHR(ours.st_mode) || ours.st_rdev == theirs.st_rdev) {
          continue;
        }
      }
      // One with other numbers is of an earlier load of the driver: each load assigns new ones.
      // Beside it first: where none may be made, the earlier one stays.
      const std::string fresh = target + ".gantry";
      unlink(fresh.c_str());
      if (mknod(fresh.c_str(), theirs.st_mode, theirs.st_rdev) != 0) {
        return FailErrno("make device node " + target, errno);
      }
      // mknod applies the umask.
      if (chmod(fresh.c_str(), theirs.st_mode & 07777U) != 0 ||
          rename(fresh.c_str(), target.c_str()) != 0) {
        return FailErrno("make device node " + target, errno);
      }
      made.insert(target);
    }
  }
  return {};
}

}  // namespace

std::string HostRoot(const std::string& mounted) {
  struct stat info{};
  return stat(JoinPath(mounted, "sys/bus/pci").c_str(), &info) == 0 ? mounted : "/";
}

std::string DevRootHere(const std::string& dev_root) {
  struct stat info{};
  const bool mounted = stat(JoinPath(dev_root, "dev").c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  return mounted ? dev_root : "/";
}

bool HasNode(const std::string& dev_root, const std::string& path) {
  struct stat info{};
  return stat(JoinPath(dev_root, path).c_str(), &info) == 0;
}

std::string CapabilityNodes(const std::string& dev_root) {
  return JoinPath(dev_root, "dev/nvidia-caps");
}

Result<std::set<std::string>> MirrorDeviceNodes(const std::string& from, const std::string& to) {
  std::set<std::string> made;
  TRY(Mirror(from, to, made));
  return made;
}

std::map<std::string, NodeIdentity> GpuNodes(const std::string& dev) {
  constexpr std::string_view kPrefix = "nvidia";
  std::map<std::string, NodeIdentity> nodes;
  for (const std::string& name : ListDirectory(dev).value_or(std::vector<std::string>{})) {
    const bool is_gpu = name.starts_with(kPrefix) && ParseInt(name.substr(kPrefix.size()));
    struct stat info{};
    if (is_gpu && stat(JoinPath(dev, name).c_str(), &info) == 0 && S_ISCHR(info.st_mode)) {
      nodes[name] = {.numbers = info.st_rdev, .inode = info.st_ino};
    }
  }
  return nodes;
}

bool HasNewNode(const std::map<std::string, NodeIdentity>& now,
                const std::map<std::string, NodeIdentity>& before) {
  return std::ranges::any_of(now, [&before](const auto& node) {
    const auto known = before.find(node.first);
    return known == before.end() || known->second != node.second;
  });
}

}  // namespace gantry::gpu
