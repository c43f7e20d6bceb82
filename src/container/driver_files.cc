// SPDX-License-Identifier: Apache-2.0
// Which files under a driver root belong to the driver? Its libraries carry its version in their
// names ("libcuda.so.535.247.01"), so the version in one name selects all others. Files without it
// (configuration, firmware, sockets) are in the lists below, from NVIDIA's documents of the
// Container Toolkit.
#include "container/driver_files.h"

#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/paths.h"
#include "base/text.h"
#include "elf/library_cache.h"
#include "elf/soname.h"

namespace gantry::container {
namespace {

constexpr std::array kLibraryFolders = {
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu/nvidia/current",
    "/lib/aarch64-linux-gnu/nvidia/current",
    "/",
};
constexpr std::array kGraphicsLibraries = {
    "libnvidia-egl-gbm.so.*.*", "libnvidia-egl-wayland.so.*.*", "libnvidia-egl-wayland2.so.*.*",
    "libnvidia-egl-xcb.so.*.*", "libnvidia-egl-xlib.so.*.*",
};
constexpr std::array kNeutralLibraries = {
    "libEGL.so",
    "libGL.so",
    "libGLESv1_CM.so",
    "libGLESv2.so",
    "libGLX.so",
    "libGLdispatch.so",
    "libOpenCL.so",
    "libOpenGL.so",
    "libnvidia-api.so",
    "libnvidia-egl-xcb.so",
    "libnvidia-egl-xlib.so",
};
// Below a library folder; Ubuntu uses the first.
constexpr std::array kXorgFolders = {
    "nvidia/xorg",
    "xorg/modules/drivers",
    "xorg/modules/extensions",
    "xorg/modules/updates/drivers",
    "xorg/modules/updates/extensions",
};
constexpr std::array kPrograms = {
    "nvidia-smi",
    "nvidia-debugdump",
    "nvidia-persistenced",
    "nvidia-cuda-mps-control",
    "nvidia-cuda-mps-server",
    "nvidia-imex",
    "nvidia-imex-ctl",
    "nvidia-xconfig",
};
constexpr std::array kProgramFolders = {"/usr/bin", "/usr/sbin",      "/bin",
                                        "/sbin",    "/usr/local/bin", "/opt/bin"};
// Found under one of the first folders; mounted under the second.
struct ConfigPlace {
  const char* container_folder;
  std::vector<const char*> folders;
  std::vector<const char*> names;
};
const std::vector<ConfigPlace>& ConfigPlaces() {
  static const std::vector<ConfigPlace> places = {
      {"/usr/share",
       {"/usr/local/share", "/usr/share", "/etc"},
       {"glvnd/egl_vendor.d/10_nvidia.json", "egl/egl_external_platform.d/15_nvidia_gbm.json",
        "egl/egl_external_platform.d/10_nvidia_wayland.json",
        "egl/egl_external_platform.d/09_nvidia_wayland2.json",
        "egl/egl_external_platform.d/20_nvidia_xcb.json",
        "egl/egl_external_platform.d/20_nvidia_xlib.json", "nvidia/nvoptix.bin",
        "X11/xorg.conf.d/10-nvidia.conf", "X11/xorg.conf.d/nvidia-drm-outputclass.conf"}},
      {"/etc",
       {"/etc", "/usr/local/share", "/usr/share"},
       {"OpenCL/vendors/nvidia.icd", "vulkan/icd.d/nvidia_icd.json",
        "vulkan/icd.d/nvidia_layers.json", "vulkan/implicit_layer.d/nvidia_layers.json",
        "vulkan/icd.d/nvidia_icd.x86_64.json", "vulkan/icd.d/nvidia_icd.aarch64.json"}},
  };
  return places;
}
constexpr std::array kSockets = {"/run/nvidia-persistenced/socket",
                                 "/run/nvidia-fabricmanager/socket", "/tmp/nvidia-mps"};
constexpr char kFirmwarePath[] = "sys/module/firmware_class/parameters/path";
constexpr std::array kControlNodes = {"/dev/nvidia-modeset", "/dev/nvidia-uvm-tools",
                                      "/dev/nvidia-uvm", "/dev/nvidiactl"};

bool Exists(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0;
}

// The path in `root` with links resolved, as the root spells it; empty if absent.
std::string RealIn(const std::string& root, const std::string& path) {
  const Result<std::string> resolved = ResolveInRoot(root, path);
  if (!resolved || !Exists(*resolved)) {
    return "";
  }
  return WithoutRoot(root, *resolved).value_or("");
}

// The version in "libcuda.so.535.247.01"; empty if what follows is not one.
std::string VersionIn(std::string_view name, std::string_view stem) {
  if (!name.starts_with(stem)) {
    return "";
  }
  name.remove_prefix(stem.size());
  const bool plain = !name.empty() && name.find('.') != std::string_view::npos &&
                     name.find_first_not_of("0123456789.") == std::string_view::npos;
  return plain ? std::string(name) : "";
}

class Finder {
 public:
  explicit Finder(const DriverPlace& place) : place_(place) {}

  Result<DriverInventory> Find() {
    Folders();
    TRY(Version());
    for (const std::string& folder : folders_) {
      Libraries(folder, "lib", ".so." + found_.version, found_.libraries);
      Libraries(JoinPath(folder, "vdpau"), "lib", ".so." + found_.version, found_.libraries);
      Matching(JoinPath(folder, "libnvidia-nvvm70.so.*"), found_.libraries);
      for (const char* name : kGraphicsLibraries) {
        Matching(JoinPath(folder, name), found_.graphics_libraries);
      }
      for (const char* name : kNeutralLibraries) {
        if (place_.every_library) {
          Matching(JoinPath(folder, name + std::string(".*")), found_.libraries);
        }
      }
    }
    XorgModules();
    if (found_.libraries.empty()) {
      return Fail(ErrorKind::kNotFound, format("find driver libraries: no lib*.so.{} under {}",
                                               found_.version, place_.root));
    }
    Programs();
    Configs();
    Firmware();
    Sockets();
    Nodes();
    return std::move(found_);
  }

 private:
  void Folders() {
    std::vector<std::string> folders = place_.library_folders;
    folders.insert(folders.end(), kLibraryFolders.begin(), kLibraryFolders.end());
    AddFolders(folders);
    versions_ = Versions();
    if (versions_.empty()) {
      AddFolders(elf::CachedFolders(place_.root, "libnvidia-ml.so.1"));
      versions_ = Versions();
    }
    if (versions_.empty()) {
      AddFolders({elf::kExtensionFolders.begin(), elf::kExtensionFolders.end()});
      versions_ = Versions();
    }
  }

  void AddFolders(const std::vector<std::string>& folders) {
    for (const std::string& folder : folders) {
      const std::string real = RealIn(place_.root, folder);
      if (!real.empty() && seen_folders_.insert(real).second) {
        folders_.push_back(folder);
      }
    }
  }

  // Of the drivers in the folders.
  std::set<std::string> Versions() const {
    std::set<std::string> versions;
    for (const std::string& folder : folders_) {
      for (const std::string& name : Names(folder)) {
        for (const char* stem : {"libcuda.so.", "libnvidia-ml.so."}) {
          if (std::string version = VersionIn(name, stem); !version.empty()) {
            versions.insert(std::move(version));
          }
        }
      }
    }
    return versions;
  }

  Status Version() {
    found_.version = place_.version;
    if (!found_.version.empty()) {
      return {};
    }
    if (versions_.empty()) {
      return Fail(ErrorKind::kNotFound,
                  format("find the driver: no libcuda.so.<version> under {}", place_.root));
    }
    if (versions_.size() > 1) {
      return Fail(ErrorKind::kInvalid,
                  format("find the driver: versions {} and {} lie under {}", *versions_.begin(),
                         *versions_.rbegin(), place_.root));
    }
    found_.version = *versions_.begin();
    return {};
  }

  std::vector<std::string> Names(const std::string& folder) const {
    const auto here = ResolveInRoot(place_.root, folder);
    if (!here) {
      return {};
    }
    return ListDirectory(*here).value_or(std::vector<std::string>{});
  }

  void Libraries(const std::string& folder, std::string_view prefix, std::string_view suffix,
                 std::vector<DriverLibrary>& into) {
    for (const std::string& name : Names(folder)) {
      if (name.starts_with(prefix) && name.ends_with(suffix)) {
        Add(JoinPath(folder, name), into);
      }
    }
  }

  void Matching(const std::string& pattern, std::vector<DriverLibrary>& into) {
    const auto paths = GlobInRoot(place_.root, pattern);
    for (const std::string& path : paths.value_or(std::vector<std::string>{})) {
      Add(WithoutRoot(place_.root, path).value_or(path), into);
    }
  }

  void XorgModules() {
    std::vector<std::string> folders = folders_;
    folders.insert(folders.end(), {"/usr/lib", "/usr/lib64"});
    for (const std::string& folder : folders) {
      for (const char* modules : kXorgFolders) {
        const std::string here = JoinPath(folder, modules);
        Add(JoinPath(here, "nvidia_drv.so"), found_.graphics_libraries);
        Add(JoinPath(here, "libglxserver_nvidia.so." + found_.version), found_.graphics_libraries);
      }
    }
  }

  // Nothing if there is no such file.
  void Add(const std::string& path, std::vector<DriverLibrary>& into) {
    const std::string real = RealIn(place_.root, path);
    if (real.empty() || !seen_libraries_.insert(real).second) {
      return;
    }
    const std::string soname = elf::ReadSoname(JoinPath(place_.root, real));
    into.push_back({path, real, soname});
    Links(ParentOf(path), BaseName(path), soname);
  }

  // Names that programs link or dlopen besides the SONAME: "libcuda.so", and the one that GLX
  // loads. Only those that the host has too.
  void Links(const std::string& folder, const std::string& name, const std::string& soname) {
    const std::string stem = name.substr(0, name.find(".so") + 3);
    const std::string target = soname.empty() ? name : soname;
    const bool always = stem == "libcuda.so" || stem == "libnvidia-opticalflow.so";
    if (stem != target && (always || Present(JoinPath(folder, stem)))) {
      found_.links[JoinPath(folder, stem)] = target;
    }
    if (stem == "libnvidia-allocator.so") {
      // As GBM searches for a backend of the kernel driver nvidia-drm.
      found_.links[JoinPath(folder, "gbm/nvidia-drm_gbm.so")] = "../libnvidia-allocator.so.1";
    }
    if (stem == "libGLX_nvidia.so") {
      found_.links[JoinPath(folder, "libGLX_indirect.so.0")] = name;
    }
  }

  [[nodiscard]] bool Present(const std::string& path) const {
    return !RealIn(place_.root, path).empty();
  }

  void Programs() {
    for (const char* name : kPrograms) {
      for (const char* folder : kProgramFolders) {
        const std::string path = JoinPath(folder, name);
        if (std::string real = RealIn(place_.root, path); !real.empty()) {
          found_.programs.push_back({JoinPath("/usr/bin", name), std::move(real)});
          break;
        }
      }
    }
  }

  void Configs() {
    for (const ConfigPlace& place : ConfigPlaces()) {
      for (const char* name : place.names) {
        std::vector<std::string> folders = place_.config_folders;
        folders.insert(folders.end(), place.folders.begin(), place.folders.end());
        for (const std::string& folder : folders) {
          if (std::string real = RealIn(place_.root, JoinPath(folder, name)); !real.empty()) {
            found_.configs.push_back({JoinPath(place.container_folder, name), std::move(real)});
            break;
          }
        }
      }
    }
  }

  void Firmware() {
    struct utsname kernel{};
    ::uname(&kernel);
    const std::string release(&kernel.release[0]);
    std::vector<std::string> folders = {"/lib/firmware/updates/" + release, "/lib/firmware/updates",
                                        "/lib/firmware/" + release, "/lib/firmware"};
    // A folder chosen by the administrator, searched first, as the kernel does.
    const std::string custom(Trim(ReadFile(JoinPath(place_.sys_root, kFirmwarePath)).value_or("")));
    if (custom.starts_with('/')) {
      folders.insert(folders.begin(), custom);
    }
    for (const std::string& folder : folders) {
      const std::string here = JoinPath(folder, "nvidia/" + found_.version);
      for (const std::string& name : Names(here)) {
        if (name.starts_with("gsp") && name.ends_with(".bin")) {
          const std::string path = JoinPath(here, name);
          found_.firmware.push_back({path, RealIn(place_.root, path)});
        }
      }
    }
  }

  // Its daemons run in the driver's container, or else on the host.
  void Sockets() {
    for (const char* path : kSockets) {
      if (const std::string own = RealIn(place_.root, path); !own.empty()) {
        found_.sockets.push_back({path, JoinPath(place_.host_root, own)});
      } else if (std::string real = RealIn(place_.run_root, path); !real.empty()) {
        found_.sockets.push_back({path, std::move(real)});
      }
    }
  }

  void Nodes() {
    for (const char* path : kControlNodes) {
      if (Exists(place_.dev_root + path)) {
        found_.control_nodes.emplace_back(path);
      }
    }
    for (const char* pattern : {"/dev/nvidia*", "/dev/nvidia-caps/nvidia-cap*",
                                "/dev/nvidia-caps-imex-channels/channel*"}) {
      const auto paths = GlobInRoot(place_.dev_root, pattern);
      for (const std::string& path : paths.value_or(std::vector<std::string>{})) {
        struct stat info{};
        const std::string name = BaseName(path);
        const bool other = name.starts_with("nvidia-fs") || name.starts_with("nvidia-nvswitch") ||
                           name.starts_with("nvidia-nvlink");
        if (!other && ::stat(path.c_str(), &info) == 0 && S_ISCHR(info.st_mode)) {
          found_.all_nodes.push_back(WithoutRoot(place_.dev_root, path).value_or(path));
          Group(found_.all_nodes.back(), info);
        }
      }
    }
  }

  void Group(const std::string& node, const struct stat& info) {
    constexpr mode_t kEverybody = S_IROTH | S_IWOTH;
    if ((info.st_mode & kEverybody) != kEverybody && info.st_gid != 0) {
      found_.node_groups[node] = info.st_gid;
    }
  }

  const DriverPlace& place_;
  DriverInventory found_;
  std::vector<std::string> folders_;
  std::set<std::string> seen_folders_;
  std::set<std::string> versions_;
  std::set<std::string> seen_libraries_;
};

}  // namespace

std::string WithoutSlashes(std::string root) {
  while (root.size() > 1 && root.ends_with('/')) {
    root.pop_back();
  }
  return root;
}

Result<DriverInventory> FindDriverFiles(const DriverPlace& place) { return Finder(place).Find(); }

std::vector<std::string> DrmNodes(const DriverPlace& place, const std::string& pci_bus_id) {
  std::vector<std::string> nodes;
  const auto names =
      ListDirectory(JoinPath(place.sys_root, "sys/bus/pci/devices/" + Lower(pci_bus_id) + "/drm"));
  for (const std::string& name : names.value_or(std::vector<std::string>{})) {
    const std::string path = "/dev/dri/" + name;
    if ((name.starts_with("card") || name.starts_with("renderD")) &&
        Exists(place.dev_root + path)) {
      nodes.push_back(path);
    }
  }
  return nodes;
}

namespace {

// The number after "<name> " in the kernel module's table of capabilities.
int CapabilityMinor(const std::string& table, const std::string& name, int usual) {
  for (const std::string& line : Split(table, '\n')) {
    if (line.starts_with(name + " ")) {
      return static_cast<int>(ParseInt(Trim(line.substr(name.size()))).value_or(usual));
    }
  }
  return usual;
}

std::string CapabilityTable(const std::string& root) {
  return ReadFile(JoinPath(root, "proc/driver/nvidia-caps/mig-minors")).value_or("");
}

}  // namespace

int MigRightMinor(const std::string& root, std::string_view right) {
  return CapabilityMinor(CapabilityTable(root), std::string(right), right == "config" ? 1 : 2);
}

std::vector<std::string> MigNodes(const std::string& root, int gpu_minor, int gpu_instance,
                                  int compute_instance) {
  // "gpu0/gi1/access 12", "gpu0/gi1/ci0/access 13". Each GPU has 15 GPU instances of 8 compute
  // instances; 1 and 2 are "config" and "monitor".
  constexpr int kFirst = 3;
  constexpr int kPerGpuInstance = 9;
  constexpr int kPerGpu = 15 * kPerGpuInstance;
  const int usual = kFirst + gpu_minor * kPerGpu + gpu_instance * kPerGpuInstance;
  const std::string table = CapabilityTable(root);
  const std::string instance = format("gpu{}/gi{}", gpu_minor, gpu_instance);
  return {
      format("/dev/nvidia-caps/nvidia-cap{}", CapabilityMinor(table, instance + "/access", usual)),
      format("/dev/nvidia-caps/nvidia-cap{}",
             CapabilityMinor(table, format("{}/ci{}/access", instance, compute_instance),
                             usual + 1 + compute_instance))};
}

}  // namespace gantry::container
