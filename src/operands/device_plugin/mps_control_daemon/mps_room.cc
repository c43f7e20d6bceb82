// SPDX-License-Identifier: Apache-2.0
// How do the driver's programs run, which are not in this image? nvidia-cuda-mps-control starts
// nvidia-cuda-mps-server, which loads libcuda: both need the driver's libraries and the libc that
// they were installed with, so their root is the driver root. With a plain chroot they would use
// the host's /dev/shm, where clients in containers can't find them.
#include "operands/device_plugin/mps_control_daemon/mps_room.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "base/paths.h"
#include "base/text.h"
#include "host/files.h"
#include "operands/device_plugin/allocate.h"

namespace gantry::device_plugin {
namespace {

namespace fs = std::filesystem;
using Kind = MpsRoom::Step::Kind;

constexpr char kFolder[] = ".room";
constexpr std::array<const char*, 6> kFoldersOfPrograms = {
    "/usr/bin", "/usr/sbin", "/bin", "/usr/local/bin", "/usr/local/nvidia/bin", "/opt/bin"};
// Steps of the room itself.
constexpr std::array<std::string_view, 5> kOwn = {"dev", "proc", "sys", "tmp", "mps"};

Result<std::string> FindProgram(const std::string& driver_root) {
  for (const char* folder : kFoldersOfPrograms) {
    auto path = JoinPath(folder, "nvidia-cuda-mps-control");
    TRY_ASSIGN(const auto here, ResolveInRoot(driver_root, path));
    if (access(here.c_str(), X_OK) == 0) {
      return path;
    }
  }
  return Fail(ErrorKind::kNotFound,
              format("find nvidia-cuda-mps-control: it is not below {}", driver_root));
}

Status AddTree(const std::string& driver_root, MpsRoom& room) {
  TRY_ASSIGN(const auto names, ListDirectory(driver_root));
  for (const auto& name : names) {
    const auto source = JoinPath(driver_root, name);
    const auto target = JoinPath(room.folder, name);
    std::error_code unreadable;
    const auto kind = std::ranges::find(kOwn, name) != kOwn.end()
                          ? fs::file_type::none
                          : fs::symlink_status(source, unreadable).type();
    if (kind == fs::file_type::symlink) {
      room.steps.push_back({Kind::kLink, fs::read_symlink(source, unreadable).string(), target});
    } else if (kind == fs::file_type::directory) {
      room.steps.push_back({Kind::kFolder, "", target});
      room.steps.push_back({Kind::kTree, source, target});
    }
  }
  return {};
}

}  // namespace

Result<MpsRoom> PlanMpsRoom(const std::string& driver_root, const std::string& dev_root,
                            const std::string& mps_root) {
  MpsRoom room;
  TRY_ASSIGN(room.program, FindProgram(driver_root));
  room.folder = JoinPath(mps_root, kFolder);
  TRY(host::MakeDirectories(room.folder, 0700));
  TRY(AddTree(driver_root, room));
  const auto bind = [&room](const std::string& source, std::string_view target) {
    room.steps.push_back({Kind::kFolder, "", JoinPath(room.folder, target)});
    room.steps.push_back({Kind::kBind, source, JoinPath(room.folder, target)});
  };
  bind(JoinPath(dev_root, "dev"), "dev");
  bind(JoinPath(mps_root, kMpsShm), "dev/shm");
  bind("/proc", "proc");
  bind("/sys", "sys");
  bind(mps_root, kMpsRoot);
  room.steps.push_back({Kind::kFolder, "", JoinPath(room.folder, "tmp")});
  return room;
}

const char* EnterMpsRoom(const MpsRoom& room) {
  const char* root = room.folder.c_str();
  if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("mps-room", root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") != 0) {
    return root;
  }
  for (const auto& step : room.steps) {
    const char* source = step.source.c_str();
    const char* target = step.target.c_str();
    const bool done = step.kind == Kind::kFolder ? mkdir(target, 0755) == 0 || errno == EEXIST
                      : step.kind == Kind::kLink
                          ? symlink(source, target) == 0
                          : mount(source, target, nullptr, MS_BIND | MS_REC, nullptr) == 0;
    if (!done && step.kind != Kind::kTree) {
      return target;
    }
  }
  return chroot(root) == 0 && chdir("/") == 0 ? nullptr : root;
}

}  // namespace gantry::device_plugin
