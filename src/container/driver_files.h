// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// The files of NVIDIA's driver on a disk: the libraries, programs, configuration, firmware, sockets
// and device nodes that a container needs to use a GPU.
namespace gantry::container {

// Where the driver's files are. Without "host": as this process sees it. With "host": as a document
// spells them, because the host's runtime reads it.
struct DriverPlace {
  std::string root = "/";           // "/host", "/driver-root"
  std::string host_root = "/";      // "/", "/run/nvidia/driver"
  std::string dev_root = "/";       // the folder that holds dev/
  std::string host_dev_root = "/";  // ditto, on the host
  std::string sys_root = "/";       // the folder that holds sys/ (DRM nodes of a GPU)
  std::string run_root = "/";       // the folder that holds the host's run/ and tmp/
  std::string version;              // "535.247.01"; empty: from the name of libcuda or libnvidia-ml
  std::string cuda_version;         // "12.2"; may be empty
  // Folders below `root` that are searched before the usual ones.
  std::vector<std::string> library_folders = {};
  std::vector<std::string> config_folders = {};
  bool every_library = false;  // also the vendor-neutral ones of GL and OpenCL
};

// A root or device root without trailing slashes, but for "/".
std::string WithoutSlashes(std::string root);

struct DriverLibrary {
  std::string path;    // in the driver root, hence in the container: "/usr/lib64/libcuda.so.535.1"
  std::string real;    // the same with every symbolic link resolved, still in the driver root
  std::string soname;  // "libcuda.so.1"; empty if it has none
};

// A file or socket that is mounted unchanged.
struct DriverFile {
  std::string path;  // in the container
  std::string real;  // in the driver root; of a socket: on the host
  auto operator<=>(const DriverFile&) const = default;
};

struct DriverInventory {
  std::string version;
  std::vector<DriverLibrary> libraries;           // by path
  std::vector<DriverLibrary> graphics_libraries;  // only for workloads
  std::vector<DriverFile> programs;
  std::vector<DriverFile> configs;  // graphics too
  std::vector<DriverFile> firmware;
  std::vector<DriverFile> sockets;
  std::map<std::string, std::string> links;  // "<dir>/libcuda.so" -> "libcuda.so.1"
  std::vector<std::string> control_nodes;    // "/dev/nvidiactl", ...: those that exist
  std::vector<std::string> all_nodes;        // every node of the driver below /dev
  // The groups of GPU nodes that are not open to all users, but to a group other than root's.
  std::map<std::string, unsigned> node_groups = {};
};

// Reads the disk. kNotFound if no driver library is under the root; kInvalid if libraries of two
// driver versions exist and `version` is empty.
Result<DriverInventory> FindDriverFiles(const DriverPlace& place);

// "/dev/dri/card1", "/dev/dri/renderD128" of the GPU at a PCI address, from sysfs, sorted.
std::vector<std::string> DrmNodes(const DriverPlace& place, const std::string& pci_bus_id);

// The nodes of a MIG device's GPU instance and compute instance: "/dev/nvidia-caps/nvidia-cap<N>",
// with N from <root>/proc/driver/nvidia-caps/mig-minors, or else by the numbering of every driver
// so far.
std::vector<std::string> MigNodes(const std::string& root, int gpu_minor, int gpu_instance,
                                  int compute_instance);

// The number N of the node "/dev/nvidia-caps/nvidia-cap<N>" for a right over all of MIG: "config"
// or "monitor".
int MigRightMinor(const std::string& root, std::string_view right);

}  // namespace gantry::container
