// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "nvml/nvml.h"
#include "nvml/symbols.h"

namespace gantry::nvml {

// A kind of GPU instance that a GPU can be divided into (nvmlGpuInstanceProfileInfo_t).
struct GpuInstanceProfile {
  unsigned number = 0;  // NVML_GPU_INSTANCE_PROFILE_*
  unsigned id = 0;      // the driver's own; what instances are created by
  std::string name;     // computed: "1g.10gb", "1g.10gb+me" (nvml/mig_profile.h)
  unsigned slices = 0;  // compute slices
  unsigned count = 0;   // how many fit on an empty GPU
  unsigned decoders = 0;
  unsigned jpeg_engines = 0;
  unsigned ofa_engines = 0;
  unsigned size = 0;                  // memory slices of an instance
  std::vector<unsigned> starts = {};  // memory slices that an instance may begin at, ascending
  bool operator==(const GpuInstanceProfile&) const = default;
};

struct ComputeInstance {
  unsigned id = 0;      // within its GPU instance
  unsigned slices = 0;  // compute slices
  bool operator==(const ComputeInstance&) const = default;
};

struct GpuInstance {
  unsigned id = 0;
  unsigned profile_id = 0;
  unsigned start = 0;  // memory slices
  unsigned size = 0;
  std::vector<ComputeInstance> compute = {};  // by id
  bool operator==(const GpuInstance&) const = default;
};

// How a GPU is divided, and how it could be.
struct MigGpu {
  unsigned index = 0;  // NVML's
  std::string uuid;
  std::string name;
  std::string pci_bus_id;        // as sysfs spells it
  unsigned pci_device = 0;       // device and vendor: 0x233010DE
  unsigned pci_subsystem = 0;    // the same of the board's maker
  bool capable = false;          // of MIG
  bool enabled = false;          // MIG mode in force
  bool enabled_pending = false;  // MIG mode after a reset; as `enabled` if none is due
  // Empty: not capable, or the driver (before 550) reports them only while MIG is enabled.
  std::vector<GpuInstanceProfile> profiles;  // by NVML's number of the profile
  std::vector<GpuInstance> instances;        // by start, then id
  bool operator==(const MigGpu&) const = default;
};

// A process that computes or draws on a GPU, or is a client of its MPS.
struct GpuProcess {
  unsigned pid = 0;                      // in the driver's PID namespace
  std::optional<unsigned> gpu_instance;  // nullopt: it has the entire GPU
  bool operator==(const GpuProcess&) const = default;
};

// Reads and changes how GPUs are divided. Changes need root, and /dev/nvidia-caps/nvidia-cap1. Any
// call may hang, as NVML may. The library must outlive it.
class MigControl {
 public:
  explicit MigControl(const Library& library) : MigControl(library.symbols()) {}
  explicit MigControl(const Symbols& symbols) : symbols_(symbols) {}

  // Every GPU by index. The first one that cannot be read is the error.
  [[nodiscard]] Result<std::vector<MigGpu>> Read() const;
  [[nodiscard]] Result<MigGpu> ReadGpu(unsigned index) const;

  // Those that use it, or one of its instances, each once.
  [[nodiscard]] Result<std::vector<GpuProcess>> Processes(unsigned index) const;

  // Asks for the mode. The GPU's instances must be gone. The driver may put it in force now, or
  // leave it pending until a reset: MigGpu::enabled says which. kConflict: the GPU is in use.
  [[nodiscard]] Status SetMode(const std::string& uuid, bool enabled) const;
  // The ids of what was created. kUnavailable: no room for it.
  [[nodiscard]] Result<unsigned> CreateGpuInstance(const std::string& uuid,
                                                   const GpuInstanceProfile& profile,
                                                   unsigned start) const;
  [[nodiscard]] Result<unsigned> CreateComputeInstance(const std::string& uuid,
                                                       unsigned gpu_instance,
                                                       unsigned slices) const;
  // kConflict: it is in use. kNotFound: there is none such.
  [[nodiscard]] Status DestroyGpuInstance(const std::string& uuid, unsigned id) const;
  [[nodiscard]] Status DestroyComputeInstance(const std::string& uuid, unsigned gpu_instance,
                                              unsigned id) const;

 private:
  const Symbols& symbols_;
};

}  // namespace gantry::nvml
