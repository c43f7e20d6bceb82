// SPDX-License-Identifier: Apache-2.0
// Which device nodes of the driver are missing on the host, and which links to them? The driver
// itself makes none. Its setuid program nvidia-modprobe does, when a library on the host first
// needs one; a library in a container never runs it. Numbers: nvidia.ko's are fixed (major 195,
// nvidiactl 255, modeset 254), nvidia-uvm's major is assigned at load and listed in /proc/devices.
#include "host/device_nodes.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

#include "base/paths.h"
#include "base/text.h"
#include "host/kernel_modules.h"
#include "host/processes.h"

namespace gantry::host {
namespace {

constexpr char kModprobe[] = "/usr/bin/nvidia-modprobe";
constexpr unsigned kGpuMajor = 195;

struct ControlNode {
  const char* name;
  const char* driver;  // in /proc/devices
  unsigned minor;
};
constexpr std::array<ControlNode, 4> kControlNodes = {{{"nvidiactl", "nvidiactl", 255},
                                                       {"nvidia-modeset", "nvidia-modeset", 254},
                                                       {"nvidia-uvm", "nvidia-uvm", 0},
                                                       {"nvidia-uvm-tools", "nvidia-uvm", 1}}};

// The major of a control node's driver. Drivers before 550 have one line, "nvidia-frontend", for
// all but nvidia-uvm.
int MajorOf(std::string_view devices, std::string_view driver) {
  int major = CharacterMajor(devices, driver);
  for (const char* older : {"nvidia", "nvidia-frontend"}) {
    if (major < 0 && driver != "nvidia-uvm") {
      major = CharacterMajor(devices, older);
    }
  }
  return major;
}

Status MakeNode(const std::string& path, unsigned major, unsigned minor) {
  if (mknod(path.c_str(), S_IFCHR | 0666, makedev(major, minor)) != 0) {
    return errno == EEXIST ? Status{} : FailErrno("make " + path, errno);
  }
  // mknod applies the umask.
  return chmod(path.c_str(), 0666) == 0 ? Status{} : FailErrno("set the mode of " + path, errno);
}

// The target of a symbolic link; empty if there is none.
std::string TargetOf(const std::string& link) {
  std::array<char, 4096> target{};
  const ssize_t size = readlink(link.c_str(), target.data(), target.size());
  return size > 0 ? std::string(target.data(), static_cast<size_t>(size)) : "";
}

// Links to the nodes `prefix`* in `dev`/`below`. Targets are paths of the host, so this process
// compares them and does not follow them.
Status LinkFolder(const std::string& dev, const std::string& below, std::string_view prefix,
                  const std::string& host_dev, const std::string& dev_char) {
  const std::string folder = JoinPath(dev, below);
  TRY_ASSIGN(const auto names, ListDirectory(folder));
  for (const std::string& name : names) {
    struct stat info{};
    if (!name.starts_with(prefix) || stat(JoinPath(folder, name).c_str(), &info) != 0 ||
        !S_ISCHR(info.st_mode)) {
      continue;
    }
    const std::string link =
        JoinPath(dev_char, format("{}:{}", major(info.st_rdev), minor(info.st_rdev)));
    const std::string path = JoinPath(below, name);
    const std::string target = JoinPath(host_dev, path);
    const std::string now = TargetOf(link);
    if (now == target || now == JoinPath("..", path)) {
      continue;
    }
    if ((!now.empty() && unlink(link.c_str()) != 0) || symlink(target.c_str(), link.c_str()) != 0) {
      return FailErrno("link " + link, errno);
    }
  }
  return {};
}

}  // namespace

Status MakeDeviceNodes(const std::string& root, const std::string& dev_root) {
  std::string failed;
  if (access(JoinPath(dev_root, kModprobe).c_str(), X_OK) == 0) {
    // -c 0: nvidiactl and nvidia0; -u -c 0: nvidia-uvm's; both load their modules.
    const auto done =
        RunProgram({{kModprobe, "-c", "0", "-u"}, dev_root, std::chrono::seconds(15)});
    if (!done) {
      failed = done.error().message;
    }
  }
  TRY_ASSIGN(const std::string devices, ReadFile(JoinPath(root, "proc/devices")));
  for (const ControlNode& node : kControlNodes) {
    const int major = MajorOf(devices, node.driver);
    const std::string path = JoinPath(JoinPath(dev_root, "dev"), node.name);
    if (major > 0 && access(path.c_str(), F_OK) != 0) {
      TRY(MakeNode(path, static_cast<unsigned>(major), node.minor));
    }
  }
  for (const int gpu : DrivenGpus(JoinPath(root, "proc"))) {
    const std::string path = JoinPath(dev_root, format("dev/nvidia{}", gpu));
    if (access(path.c_str(), F_OK) != 0) {
      TRY(MakeNode(path, kGpuMajor, static_cast<unsigned>(gpu)));
    }
  }
  return failed.empty() ? Status{} : Fail(ErrorKind::kUnavailable, failed);
}

Status LinkDeviceNodes(const std::string& dev_root, const std::string& host_dev_root,
                       const std::string& dev_char) {
  if (access(dev_char.c_str(), F_OK) != 0) {
    return {};
  }
  const std::string dev = JoinPath(dev_root, "dev");
  const std::string host_dev = JoinPath(host_dev_root, "dev");
  TRY(LinkFolder(dev, "", "nvidia", host_dev, dev_char));
  return LinkFolder(dev, "nvidia-caps", "nvidia-cap", host_dev, dev_char);
}

}  // namespace gantry::host
