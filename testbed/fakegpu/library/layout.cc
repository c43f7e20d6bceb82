// SPDX-License-Identifier: Apache-2.0
// Tells the tool how the machine is laid out, from the same lists that the structures are made of.
#include <stdio.h>

#include "session.h"

using namespace fakegpu;

namespace {

struct Text {
  char* at;
  size_t left;
  void Line(const char* structure, const char* type, const char* name, size_t offset,
            size_t count) {
    int length = snprintf(at, left, "%s %s %s %zu %zu\n", structure, type, name, offset, count);
    if (length > 0 && static_cast<size_t>(length) < left) {
      at += length;
      left -= static_cast<size_t>(length);
    }
  }
};

}  // namespace

// Lines "STRUCT TYPE NAME OFFSET COUNT"; of TYPE `size` the COUNT is the size of the structure, and
// of TYPE `array` COUNT elements of the structure NAME begin at OFFSET. Says how long the text is;
// writes what has room.
FAKEGPU_EXPORT unsigned fakegpuLayout(char* out, unsigned room) {
  static char buffer[16384];
  Text text{buffer, sizeof buffer};
#define FAKEGPU_LINE(type, name, count) \
  text.Line(FAKEGPU_NAME, #type, #name, offsetof(FAKEGPU_STRUCT, name), count);
#define FAKEGPU_STRUCT Machine
#define FAKEGPU_NAME "machine"
  FAKEGPU_MACHINE_FIELDS(FAKEGPU_LINE)
#undef FAKEGPU_STRUCT
#undef FAKEGPU_NAME
#define FAKEGPU_STRUCT Event
#define FAKEGPU_NAME "event"
  FAKEGPU_EVENT_FIELDS(FAKEGPU_LINE)
#undef FAKEGPU_STRUCT
#undef FAKEGPU_NAME
#define FAKEGPU_STRUCT Process
#define FAKEGPU_NAME "process"
  FAKEGPU_PROCESS_FIELDS(FAKEGPU_LINE)
#undef FAKEGPU_STRUCT
#undef FAKEGPU_NAME
#define FAKEGPU_STRUCT Link
#define FAKEGPU_NAME "link"
  FAKEGPU_LINK_FIELDS(FAKEGPU_LINE)
#undef FAKEGPU_STRUCT
#undef FAKEGPU_NAME
#define FAKEGPU_STRUCT Gpu
#define FAKEGPU_NAME "gpu"
  FAKEGPU_GPU_FIELDS(FAKEGPU_LINE)
#undef FAKEGPU_STRUCT
#undef FAKEGPU_NAME
#define FAKEGPU_STRUCT MigProfile
#define FAKEGPU_NAME "mig_profile"
  FAKEGPU_MIG_PROFILE_FIELDS(FAKEGPU_LINE)
#undef FAKEGPU_STRUCT
#undef FAKEGPU_NAME
#define FAKEGPU_STRUCT GpuInstance
#define FAKEGPU_NAME "gpu_instance"
  FAKEGPU_GPU_INSTANCE_FIELDS(FAKEGPU_LINE)
#undef FAKEGPU_STRUCT
#undef FAKEGPU_NAME
#define FAKEGPU_STRUCT ComputeInstance
#define FAKEGPU_NAME "compute_instance"
  FAKEGPU_COMPUTE_INSTANCE_FIELDS(FAKEGPU_LINE)
#undef FAKEGPU_STRUCT
#undef FAKEGPU_NAME
#undef FAKEGPU_LINE
  text.Line("machine", "size", "-", 0, sizeof(Machine));
  text.Line("event", "size", "-", 0, sizeof(Event));
  text.Line("process", "size", "-", 0, sizeof(Process));
  text.Line("link", "size", "-", 0, sizeof(Link));
  text.Line("gpu", "size", "-", 0, sizeof(Gpu));
  text.Line("mig_profile", "size", "-", 0, sizeof(MigProfile));
  text.Line("gpu_instance", "size", "-", 0, sizeof(GpuInstance));
  text.Line("compute_instance", "size", "-", 0, sizeof(ComputeInstance));
  text.Line("machine", "array", "event", offsetof(Machine, events), kEventSlots);
  text.Line("gpu", "array", "link", offsetof(Gpu, links), kMaxLinks);
  text.Line("gpu", "array", "process", offsetof(Gpu, processes), kMaxProcesses);
  text.Line("gpu", "array", "mig_profile", offsetof(Gpu, mig_profiles), kMigProfiles);
  text.Line("gpu", "array", "gpu_instance", offsetof(Gpu, gpu_instances), kMaxGpuInstances);
  text.Line("gpu", "array", "compute_instance", offsetof(Gpu, compute_instances),
            size_t{kMaxGpuInstances} * kMaxComputeInstances);
  text.Line("machine", "version", "-", kLayoutVersion, kMaxGpus);
  if (out != nullptr && room > 0) snprintf(out, room, "%s", buffer);
  return static_cast<unsigned>(sizeof buffer - text.left);
}
