// SPDX-License-Identifier: Apache-2.0
// The machine, as it lies in the tail of the library file: fixed structures of plain numbers,
// mapped shared by every program that loads the library and by the tool that writes them.
//
// The lists below are the only description of the layout. The structures are made of them, and so
// is the table that fakegpuLayout() hands to the tool (machine/layout.py), which therefore never
// has to be told an offset. Change a list: raise kLayoutVersion. Numbers that are not known to the
// machine hold kUnknown32 or kUnknown64, and the library answers NVML_ERROR_NOT_SUPPORTED for them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace fakegpu {

inline constexpr uint64_t kMagic =
    0x31555047454b4146;  // "FAKEGPU1", at the end of the file and of its state
inline constexpr uint32_t kLayoutVersion = 4;
inline constexpr uint32_t kMaxGpus = 64;
inline constexpr uint32_t kUnknown32 = 0xffffffffU;
inline constexpr uint64_t kUnknown64 = ~uint64_t{0};

using u32 = uint32_t;
using u64 = uint64_t;
using text = char;

// FIELD(type, name, count). u64 fields stand where they are aligned to 8; every list is padded by
// its struct.
#define FAKEGPU_MACHINE_FIELDS(FIELD)                                                     \
  FIELD(u64, magic, 1)                                                                    \
  FIELD(u32, layout_version, 1)                                                           \
  FIELD(u32, gpu_count, 1)                                                                \
  FIELD(u64, size, 1)        /* bytes of the whole state */                               \
  FIELD(u64, gpus_offset, 1) /* of the first Gpu, from the state's start */               \
  FIELD(u32, driver_loaded, 1)                                                            \
  FIELD(u32, cuda_version, 1) /* 12020 is 12.2 */                                         \
  FIELD(text, driver_version, 80)                                                         \
  FIELD(text, nvml_version, 80)                                                           \
  FIELD(u32, wake, 1) /* futex word: counts every change that someone may wait for */     \
  FIELD(u32, cc_ready, 1)                                                                 \
  FIELD(u64, event_count, 1)  /* events raised so far; event n lies at n % kEventSlots */ \
  FIELD(u32, keeper, 1)       /* 1: capabilities.cc runs and follows the wake word */     \
  FIELD(u32, kept, 1)         /* the wake word that it has followed; a futex word too */  \
  FIELD(text, topology, 4096) /* nvmlGpuTopologyLevel_t of pair [a * kMaxGpus + b] */

#define FAKEGPU_EVENT_FIELDS(FIELD) \
  FIELD(u64, type, 1)               \
  FIELD(u64, payload, 1)            \
  FIELD(u32, gpu, 1)                \
  FIELD(u32, gpu_instance, 1)       \
  FIELD(u32, compute_instance, 1)   \
  FIELD(u32, reserved, 1)

#define FAKEGPU_PROCESS_FIELDS(FIELD)                   \
  FIELD(u64, memory, 1) /* bytes */                     \
  FIELD(u32, pid, 1)                                    \
  FIELD(u32, kind, 1) /* kCompute, kGraphics or kMps */ \
  FIELD(u32, sm_utilization, 1)                         \
  FIELD(u32, memory_utilization, 1)                     \
  FIELD(u32, gpu_instance, 1)                           \
  FIELD(u32, compute_instance, 1)                       \
  FIELD(text, name, 64)

#define FAKEGPU_LINK_FIELDS(FIELD)                           \
  FIELD(u64, sent, 1) /* KiB */                              \
  FIELD(u64, received, 1)                                    \
  FIELD(u64, errors, 5) /* by nvmlNvLinkErrorCounter_t */    \
  FIELD(u32, active, 1)                                      \
  FIELD(u32, version, 1)                                     \
  FIELD(u32, speed, 1)       /* MB/s */                      \
  FIELD(u32, remote_kind, 1) /* nvmlIntNvLinkDeviceType_t */ \
  FIELD(u32, remote_domain, 1)                               \
  FIELD(u32, remote_bus, 1)                                  \
  FIELD(u32, remote_slot, 1)                                 \
  FIELD(u32, remote_pci_id, 1)

// What GPU instances can be made: one for each NVML_GPU_INSTANCE_PROFILE_*.
#define FAKEGPU_MIG_PROFILE_FIELDS(FIELD)                    \
  FIELD(text, name, 24) /* "1g.10gb+me" */                   \
  FIELD(u64, memory, 1) /* MiB */                            \
  FIELD(u32, slices, 1) /* 0: the GPU has no such profile */ \
  FIELD(u32, id, 1)     /* the driver's */                   \
  FIELD(u32, most, 1)   /* instances of it on one GPU */     \
  FIELD(u32, size, 1)   /* memory slices that it takes */    \
  FIELD(u32, starts, 1) /* bit n: may begin at slice n */    \
  FIELD(u32, multiprocessors, 1)                             \
  FIELD(u32, copy_engines, 1)                                \
  FIELD(u32, decoders, 1)                                    \
  FIELD(u32, encoders, 1)                                    \
  FIELD(u32, jpeg_engines, 1)                                \
  FIELD(u32, ofa_engines, 1)                                 \
  FIELD(u32, reserved, 1)

// The GPU instances that were made; each lies at its own id.
#define FAKEGPU_GPU_INSTANCE_FIELDS(FIELD)                 \
  FIELD(u32, used, 1)                                      \
  FIELD(u32, profile, 1) /* NVML_GPU_INSTANCE_PROFILE_* */ \
  FIELD(u32, start, 1)   /* its first memory slice */      \
  FIELD(u32, reserved, 1)

// Compute instance c of GPU instance g lies at g * kMaxComputeInstances + c.
#define FAKEGPU_COMPUTE_INSTANCE_FIELDS(FIELD)                \
  FIELD(u32, slices, 1) /* 0: there is none */                \
  FIELD(u32, start, 1)  /* among those of its GPU instance */ \
  FIELD(text, uuid, 48)

#define FAKEGPU_GPU_FIELDS(FIELD)                                                              \
  /* what it is */                                                                             \
  FIELD(text, name, 96)                                                                        \
  FIELD(text, uuid, 48)                                                                        \
  FIELD(text, serial, 32)                                                                      \
  FIELD(text, board_part_number, 32)                                                           \
  FIELD(text, vbios, 32)                                                                       \
  FIELD(text, inforom_image, 32)                                                               \
  FIELD(text, inforom_oem, 16)                                                                 \
  FIELD(text, inforom_ecc, 16)                                                                 \
  FIELD(text, inforom_power, 16)                                                               \
  FIELD(text, gsp_firmware, 48)                                                                \
  FIELD(text, fabric_cluster_uuid, 16) /* 16 raw bytes */                                      \
  FIELD(u32, minor, 1)                                                                         \
  FIELD(u32, pci_domain, 1)                                                                    \
  FIELD(u32, pci_bus, 1)                                                                       \
  FIELD(u32, pci_slot, 1)                                                                      \
  FIELD(u32, pci_id, 1)                                                                        \
  FIELD(u32, pci_subsystem_id, 1)                                                              \
  FIELD(u32, numa_node, 1)                                                                     \
  FIELD(u32, brand, 1)                                                                         \
  FIELD(u32, architecture, 1)                                                                  \
  FIELD(u32, compute_major, 1)                                                                 \
  FIELD(u32, compute_minor, 1)                                                                 \
  FIELD(u32, cores, 1)                                                                         \
  FIELD(u32, multiprocessors, 1)                                                               \
  FIELD(u32, memory_bus_width, 1)                                                              \
  FIELD(u32, board_id, 1)                                                                      \
  FIELD(u32, multi_gpu_board, 1)                                                               \
  FIELD(u32, module_id, 1)                                                                     \
  FIELD(u32, mig_capable, 1)                                                                   \
  FIELD(u32, virtualization, 1)                                                                \
  FIELD(u32, fabric_state, 1)                                                                  \
  FIELD(u32, fabric_status, 1)                                                                 \
  FIELD(u32, fabric_clique, 1)                                                                 \
  FIELD(u32, copy_engines, 1)                                                                  \
  FIELD(u32, decoders, 1)                                                                      \
  FIELD(u32, encoders, 1)                                                                      \
  FIELD(u32, jpeg_engines, 1)                                                                  \
  FIELD(u32, ofa_engines, 1)                                                                   \
  FIELD(u32, mig_compute_slices, 1)                                                            \
  FIELD(u32, mig_memory_slices, 1)                                                             \
  /* how it is set */                                                                          \
  FIELD(u32, persistence, 1)                                                                   \
  FIELD(u32, compute_mode, 1)                                                                  \
  FIELD(u32, ecc, 1)                                                                           \
  FIELD(u32, ecc_pending, 1)                                                                   \
  FIELD(u32, mig, 1)                                                                           \
  FIELD(u32, mig_pending, 1)                                                                   \
  FIELD(u32, accounting, 1)                                                                    \
  FIELD(u32, display_attached, 1)                                                              \
  FIELD(u32, display_active, 1)                                                                \
  /* how it fares */                                                                           \
  FIELD(u32, temperature, 1) /* degrees Celsius */                                             \
  FIELD(u32, temperature_memory, 1)                                                            \
  FIELD(u32, temperature_shutdown, 1)                                                          \
  FIELD(u32, temperature_slowdown, 1)                                                          \
  FIELD(u32, temperature_gpu_max, 1)                                                           \
  FIELD(u32, temperature_memory_max, 1)                                                        \
  FIELD(u32, fan, 1)   /* percent */                                                           \
  FIELD(u32, power, 1) /* milliwatts, as are all powers */                                     \
  FIELD(u32, power_limit, 1)                                                                   \
  FIELD(u32, power_default, 1)                                                                 \
  FIELD(u32, power_min, 1)                                                                     \
  FIELD(u32, power_max, 1)                                                                     \
  FIELD(u32, utilization_gpu, 1) /* percent, as are all utilizations */                        \
  FIELD(u32, utilization_memory, 1)                                                            \
  FIELD(u32, utilization_encoder, 1)                                                           \
  FIELD(u32, utilization_decoder, 1)                                                           \
  FIELD(u32, utilization_jpeg, 1)                                                              \
  FIELD(u32, utilization_ofa, 1)                                                               \
  FIELD(u32, gpm_graphics, 1) /* hundredths of a percent; unknown: follows utilization_gpu */  \
  FIELD(u32, gpm_sm, 1)                                                                        \
  FIELD(u32, gpm_occupancy, 1)                                                                 \
  FIELD(u32, gpm_integer, 1)                                                                   \
  FIELD(u32, gpm_tensor, 1)                                                                    \
  FIELD(u32, gpm_dfma, 1)                                                                      \
  FIELD(u32, gpm_hmma, 1)                                                                      \
  FIELD(u32, gpm_imma, 1)                                                                      \
  FIELD(u32, gpm_dram, 1)                                                                      \
  FIELD(u32, gpm_fp64, 1)                                                                      \
  FIELD(u32, gpm_fp32, 1)                                                                      \
  FIELD(u32, gpm_fp16, 1)                                                                      \
  FIELD(u32, counters_frozen, 1) /* 1: GPM shows no work */                                    \
  FIELD(u32, performance_state, 1)                                                             \
  FIELD(u32, clock_graphics, 1) /* MHz, as are all clocks */                                   \
  FIELD(u32, clock_sm, 1)                                                                      \
  FIELD(u32, clock_memory, 1)                                                                  \
  FIELD(u32, clock_video, 1)                                                                   \
  FIELD(u32, clock_graphics_max, 1)                                                            \
  FIELD(u32, clock_sm_max, 1)                                                                  \
  FIELD(u32, clock_memory_max, 1)                                                              \
  FIELD(u32, clock_video_max, 1)                                                               \
  FIELD(u32, application_graphics, 1)                                                          \
  FIELD(u32, application_memory, 1)                                                            \
  FIELD(u32, application_graphics_default, 1)                                                  \
  FIELD(u32, application_memory_default, 1)                                                    \
  FIELD(u32, pcie_generation, 1)                                                               \
  FIELD(u32, pcie_generation_max, 1)                                                           \
  FIELD(u32, pcie_width, 1)                                                                    \
  FIELD(u32, pcie_width_max, 1)                                                                \
  FIELD(u32, pcie_sent, 1) /* KB/s */                                                          \
  FIELD(u32, pcie_received, 1)                                                                 \
  FIELD(u32, pcie_replays, 1)                                                                  \
  FIELD(u32, remapped_correctable, 1)                                                          \
  FIELD(u32, remapped_uncorrectable, 1)                                                        \
  FIELD(u32, remap_pending, 1)                                                                 \
  FIELD(u32, remap_failed, 1)                                                                  \
  FIELD(u32, retired_single, 1)                                                                \
  FIELD(u32, retired_double, 1)                                                                \
  FIELD(u32, retire_pending, 1)                                                                \
  FIELD(u32, recovery_action, 1) /* nvmlDeviceGpuRecoveryAction_t */                           \
  FIELD(u32, remap_histogram, 5) /* banks by what they have left: max high partial low none */ \
  FIELD(u32, failure, 1)         /* nvmlReturn_t that calls answer; 0: none */                 \
  FIELD(u32, failing_field, 1)   /* NVML_FI_*; unknown: none */                                \
  FIELD(u32, link_rate, 1)       /* KiB/s of a link, each way */                               \
  FIELD(text, failing_call, 64)  /* "" : every call on this GPU */                             \
  FIELD(text, hanging_call, 64)  /* "" : none; "*" : every call on this GPU */                 \
  FIELD(u32, failing_number, 1)  /* which of a process's matching calls; 0: each */            \
  FIELD(u32, hanging_number, 1)                                                                \
  FIELD(u32, link_count, 1)                                                                    \
  FIELD(u32, process_count, 1)                                                                 \
  FIELD(u32, sequence, 1) /* odd while the process list is being written */                    \
  FIELD(u32, reserved, 1)                                                                      \
  FIELD(u64, throttle_reasons, 1)                                                              \
  FIELD(u64, memory_total, 1) /* bytes, as are all memories */                                 \
  FIELD(u64, memory_reserved, 1)                                                               \
  FIELD(u64, memory_used, 1) /* without memory_reserved */                                     \
  FIELD(u64, bar1_total, 1)                                                                    \
  FIELD(u64, bar1_used, 1)                                                                     \
  FIELD(u64, energy, 1)                 /* millijoules at the moment energy_time */            \
  FIELD(u64, energy_time, 1)            /* microseconds since 1970; 0: energy stands still */  \
  FIELD(u64, violation_time, 6)         /* ns, by nvmlPerfPolicyType_t */                      \
  FIELD(u64, throttle_time, 1)          /* as energy_time, of throttle_reasons */              \
  FIELD(u64, link_time, 1)              /* as energy_time, of link_rate */                     \
  FIELD(u64, ecc_volatile_corrected, 8) /* by nvmlMemoryLocation_t */                          \
  FIELD(u64, ecc_volatile_uncorrected, 8)                                                      \
  FIELD(u64, ecc_aggregate_corrected, 8)                                                       \
  FIELD(u64, ecc_aggregate_uncorrected, 8)

inline constexpr uint32_t kEventSlots = 256;
inline constexpr uint32_t kMaxProcesses = 64;
inline constexpr uint32_t kMaxLinks = 18;
inline constexpr uint32_t kMigProfiles = 18;
inline constexpr uint32_t kMaxGpuInstances = 15;  // ids 0..14, see mig_rules.cc
inline constexpr uint32_t kMaxComputeInstances = 8;
inline constexpr uint32_t kCompute = 1;
inline constexpr uint32_t kGraphics = 2;
inline constexpr uint32_t kMps = 3;

template <class T, size_t N>
struct Storage {
  using Field = T[N];
};
template <class T>
struct Storage<T, 1> {
  using Field = T;
};
#define FAKEGPU_DECLARE(type, name, count) Storage<type, count>::Field name;

struct Event {
  FAKEGPU_EVENT_FIELDS(FAKEGPU_DECLARE)
};
struct Process {
  FAKEGPU_PROCESS_FIELDS(FAKEGPU_DECLARE)
};
struct Link {
  FAKEGPU_LINK_FIELDS(FAKEGPU_DECLARE)
};
struct MigProfile {
  FAKEGPU_MIG_PROFILE_FIELDS(FAKEGPU_DECLARE)
};
struct GpuInstance {
  FAKEGPU_GPU_INSTANCE_FIELDS(FAKEGPU_DECLARE)
};
struct ComputeInstance {
  FAKEGPU_COMPUTE_INSTANCE_FIELDS(FAKEGPU_DECLARE)
};
struct Machine {
  FAKEGPU_MACHINE_FIELDS(FAKEGPU_DECLARE)
  Event events[kEventSlots];
};
struct alignas(4096) Gpu {
  FAKEGPU_GPU_FIELDS(FAKEGPU_DECLARE)
  Link links[kMaxLinks];
  Process processes[kMaxProcesses];
  MigProfile mig_profiles[kMigProfiles];
  GpuInstance gpu_instances[kMaxGpuInstances];
  ComputeInstance compute_instances[kMaxGpuInstances * kMaxComputeInstances];
};
#undef FAKEGPU_DECLARE

// The last bytes of the library file.
struct Trailer {
  u64 offset;  // of Machine in the file; a multiple of the page size
  u64 magic;
};

}  // namespace fakegpu
