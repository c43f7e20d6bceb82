// SPDX-License-Identifier: Apache-2.0
// Which control devices of the driver are missing? A host where no program has used the driver yet
// has none; with a CDI document without them, containers can't open a GPU.
#include "operands/container_toolkit/device_nodes.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/files.h"

namespace gantry::container_toolkit {
namespace {

constexpr char kMade[] = "device-nodes";  // note in the journal: host paths, comma-separated
constexpr unsigned kControl = 255;
constexpr unsigned kModeset = 254;
constexpr mode_t kForAll = 0666;

}  // namespace

std::vector<ControlDevice> ControlDevices(std::string_view proc_devices) {
  std::vector<ControlDevice> devices;
  for (const std::string& line : Split(proc_devices, '\n')) {
    const std::string_view words = Trim(line);
    const size_t ns = words.find(' ');
    const std::string_view name =
        ns == std::string_view::npos ? std::string_view{} : Trim(words.substr(ns));
    const auto major = ParseInt(words.substr(0, ns));
    if (!major) {
      continue;
    }
    const auto number = static_cast<unsigned>(*major);
    const bool known = std::ranges::any_of(
        devices, [&](const ControlDevice& device) { return device.major == number; });
    if ((name == "nvidia-frontend" || name == "nvidia") && !known) {
      devices.push_back({"nvidiactl", number, kControl});
      devices.push_back({"nvidia-modeset", number, kModeset});
    } else if (name == "nvidia-uvm") {
      devices.push_back({"nvidia-uvm", number, 0});
      devices.push_back({"nvidia-uvm-tools", number, 1});
    }
  }
  return devices;
}

Status MakeControlDevices(const std::string& host_root, const std::string& dev_root,
                          host::Journal& journal) {
  TRY_ASSIGN(const std::string proc, ResolveInRoot(host_root, "/proc/devices"));
  std::vector<std::string> made = Split(journal.Note(kMade), ',');
  for (const ControlDevice& device : ControlDevices(ReadFile(proc).value_or(""))) {
    const std::string host_path = JoinPath(dev_root, "dev/" + device.name);
    TRY_ASSIGN(const std::string path, ResolveInRoot(host_root, host_path));
    TRY_ASSIGN(const host::FileInfo info, host::Inspect(path));
    if (info.kind != host::FileKind::kAbsent) {
      continue;
    }
    if (std::ranges::find(made, host_path) == made.end()) {
      made.push_back(host_path);
    }
    TRY(journal.SetNote(kMade, Join(made, ",")));
    if (::mknod(path.c_str(), S_IFCHR | kForAll, makedev(device.major, device.minor)) != 0 ||
        ::chmod(path.c_str(), kForAll) != 0) {
      return FailErrno("make " + path, errno);
    }
    log::Info("made {}", host_path);
  }
  return {};
}

Status RemoveControlDevices(const std::string& host_root, const host::Journal& journal) {
  for (const std::string& host_path : Split(journal.Note(kMade), ',')) {
    TRY_ASSIGN(const std::string path, ResolveInRoot(host_root, host_path));
    TRY(host::RemoveFile(path));
  }
  return {};
}

}  // namespace gantry::container_toolkit
