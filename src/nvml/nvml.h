// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

// GPUs, through NVIDIA's management library (NVML, libnvidia-ml.so.1), which is opened with dlopen
// because it belongs to the driver of the node. No other code opens it.
//
// Every error names the NVML call, the device and NVML's own code ("nvmlDeviceGetMemoryInfo GPU 3:
// GPU_IS_LOST"); its kind says what to do (nvml/errors.h). Any call may hang if the driver does: a
// caller that must not wait uses a thread or process that can be abandoned.
namespace gantry::nvml {

// The file of libnvidia-ml.so.1 under a driver root as this process sees it ("/driver-root", "/"):
// the first of usr/lib64, usr/lib/x86_64-linux-gnu, usr/lib/aarch64-linux-gnu, lib64,
// lib/x86_64-linux-gnu, lib/aarch64-linux-gnu. Symbolic links are followed inside the root, so that
// an absolute one does not lead out of it. kNotFound names the root.
Result<std::filesystem::path> FindLibrary(const std::filesystem::path& root);

// The mode of a GPU's use by processes (nvmlComputeMode_t, the same numbers).
enum class ComputeMode {
  kDefault = 0,
  kExclusiveThread = 1,
  kProhibited = 2,
  kExclusiveProcess = 3
};

enum class MigMode { kUnsupported, kDisabled, kEnabled };

// The GPU's place in an NVLink fabric; present only after the fabric manager has finished.
struct Fabric {
  std::string cluster_uuid;  // 8-4-4-4-12
  unsigned clique_id = 0;
  bool operator==(const Fabric&) const = default;
};

// The attributes of a MIG device (nvmlDeviceAttributes_t); equal for two of one kind.
struct MigAttributes {
  unsigned gpu_slices = 0;
  unsigned compute_slices = 0;
  unsigned multiprocessors = 0;
  unsigned copy_engines = 0;  // engines are shared by the compute instances of a GPU instance
  unsigned decoders = 0;
  unsigned encoders = 0;
  unsigned jpeg_engines = 0;
  unsigned ofa_engines = 0;
  uint64_t memory_mib = 0;
  bool operator==(const MigAttributes&) const = default;
};

// Where the GPU instance of a MIG device is.
struct MigPlace {
  unsigned profile_id = 0;  // the driver's own id of the GPU instance's profile
  unsigned start = 0;       // its first memory slice
  unsigned size = 0;        // memory slices
  bool operator==(const MigPlace&) const = default;
};

// A compute instance of a GPU in MIG mode: the device that a container gets.
struct MigDevice {
  unsigned index = 0;             // NVML's, among those of its GPU; there may be gaps
  std::string uuid;               // "MIG-..."
  std::string profile;            // "1g.10gb", "1g.10gb+me", "1c.3g.40gb" (nvml/mig_profile.h)
  unsigned gpu_instance = 0;      // ids as /proc/driver/nvidia-caps/mig-minors has them:
  unsigned compute_instance = 0;  // gpu<minor of the GPU>/gi<gpu_instance>/ci<compute_instance>
  MigAttributes attributes;
  std::optional<MigPlace> place = {};  // nullopt: this process may not read it
  bool operator==(const MigDevice&) const = default;
};

// How many calls this process has made into libraries of NVML.
uint64_t CallsMade();

struct Device {
  unsigned index = 0;         // NVML's, among the GPUs this process can open
  unsigned minor = 0;         // of /dev/nvidia<minor>
  std::string uuid;           // "GPU-..."
  std::string name;           // "Tesla T4"
  std::string brand;          // "tesla", "geforce", ...; "unknown"
  std::string pci_bus_id;     // as sysfs spells it: "0000:3b:00.0"
  uint64_t memory_bytes = 0;  // total; 0: the driver does not report it
  int compute_major = 0;      // 0: the driver does not report it
  int compute_minor = 0;
  int numa_node = -1;  // from sysfs; -1: none
  MigMode mig = MigMode::kUnsupported;
  std::vector<MigDevice> mig_devices;  // by index; those whose device nodes this process can open
  std::optional<Fabric> fabric;
  // Whether it reads the CPU's memory by the CPU's own page tables (ATS, as on GH200); nullopt: not
  // reported.
  std::optional<bool> coherent;
  std::string addressing_mode;  // "None", "HMM", "ATS"; empty: the driver does not report it
  bool operator==(const Device&) const = default;
};

// The result of one enumeration. One broken GPU does not hide the others.
struct Devices {
  struct Failed {
    unsigned index = 0;
    std::string uuid;        // empty: it could not be read
    std::string pci_bus_id;  // the same
    Error error;
  };
  std::vector<Device> found;  // by index
  std::vector<Failed> failed;
};

// The PCIe distance of two GPUs, nearest first (nvmlGpuTopologyLevel_t).
enum class Ancestor { kInternal, kSingle, kMultiple, kHostBridge, kNode, kSystem, kUnknown };

struct Pair {
  Ancestor ancestor = Ancestor::kUnknown;
  unsigned nvlinks = 0;       // active links that end in the other GPU
  unsigned switch_links = 0;  // links of both to an NVSwitch: the smaller number of the two
  bool operator==(const Pair&) const = default;
};

// pairs[a][b] in the order of the given devices; symmetric; pairs[a][a] is empty.
struct Topology {
  std::vector<std::vector<Pair>> pairs;
};

struct Symbols;

// Events of registered GPUs. One thread waits; others may register meanwhile.
class EventSet {
 public:
  struct Event {
    std::string uuid;          // of the GPU; empty: a GPU that was not registered here
    bool mig_changed = false;  // MIG devices were made or removed: enumerate again. Else an XID:
    uint64_t xid = 0;
    std::optional<unsigned> gpu_instance;      // MIG: the instances it is confined to
    std::optional<unsigned> compute_instance;  // the same
    bool operator==(const Event&) const = default;
  };

  EventSet(const Symbols& symbols, void* set);
  EventSet(const EventSet&) = delete;
  EventSet& operator=(const EventSet&) = delete;
  ~EventSet();

  // Registers for a GPU's XID events, and for its MIG changes if the driver reports them.
  // kUnsupported: this GPU has no XID events.
  Status Register(const std::string& uuid);
  // Blocks until such an event comes; nothing after `timeout` or after another event.
  Result<std::optional<Event>> Wait(std::chrono::milliseconds timeout);

 private:
  struct Registered;
  const Symbols& symbols_;
  void* set_;
  std::unique_ptr<Registered> registered_;
};

// NVML opened and initialised; the destructor shuts it down and unloads the library. Thread-safe,
// as NVML is. Event sets must be destroyed before it.
class Library {
 public:
  struct Options {
    std::filesystem::path library = "libnvidia-ml.so.1";  // a path, or a name for the loader
    std::filesystem::path sys = "/sys";                   // for numa_node
  };

  // kNotFound: no such library, or no driver loaded (wait for it).
  static Result<std::unique_ptr<Library>> Open(const Options& options);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  // "535.183.01".
  [[nodiscard]] Result<std::string> DriverVersion() const;
  // NVML's own number for the CUDA version that the driver supports: 12040 is 12.4.
  [[nodiscard]] Result<int> CudaVersion() const;
  [[nodiscard]] Result<unsigned> DeviceCount() const;
  // Every GPU that this process can open.
  [[nodiscard]] Result<Devices> Enumerate() const;
  [[nodiscard]] Topology Distances(const std::vector<Device>& devices) const;
  // nvmlGpuP2PStatus_t of the way from one GPU to another over NVLink.
  [[nodiscard]] Result<unsigned> NvLinkPeerStatus(const std::string& from,
                                                  const std::string& to) const;
  // Asks the GPU itself (memory, temperature, the driver's recovery action): an error if it is
  // lost, needs a reset or returns NVML's "unknown error".
  [[nodiscard]] Status Alive(const std::string& uuid) const;
  // kUnsupported: this GPU has no compute mode. Setting needs root, and lasts until the driver is
  // unloaded.
  [[nodiscard]] Result<ComputeMode> GetComputeMode(const std::string& uuid) const;
  [[nodiscard]] Status SetComputeMode(const std::string& uuid, ComputeMode mode) const;
  [[nodiscard]] Result<std::unique_ptr<EventSet>> NewEventSet() const;
  // For the other files of this folder.
  [[nodiscard]] const Symbols& symbols() const { return *symbols_; }

 private:
  Library(Options options, std::unique_ptr<Symbols> symbols);
  Options options_;
  std::unique_ptr<Symbols> symbols_;
};

}  // namespace gantry::nvml
