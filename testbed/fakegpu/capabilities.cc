// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's kernel module does on a node when MIG instances come and go: for each it shows a
// file below /proc/driver/nvidia/capabilities, which tells the number of a character device, and
// (with nvidia-modprobe's help) there is that device in /dev/nvidia-caps.
//
// mount.sh starts it inside the node. It makes the files, goes to the background and then sleeps on
// the wake word of the machine; who changes the machine waits for it (session.cc, EndWriting).
// usage: fakegpu-capabilities LIBRARY PID_FILE
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "library/mig_rules.h"

using namespace fakegpu;

namespace {

constexpr char kTree[] = "/proc/driver/nvidia/capabilities";
constexpr char kNodes[] = "/dev/nvidia-caps";
constexpr u32 kSlots = kMaxGpuInstances * kCapsOfGpuInstance;

// Set by the signal handler.
volatile sig_atomic_t& Ended() {
  static volatile sig_atomic_t ended = 0;
  return ended;
}

Machine* Map(const char* path) {
  int file = open(path, O_RDWR | O_CLOEXEC);
  off_t end = file < 0 ? -1 : lseek(file, 0, SEEK_END);
  Trailer trailer{};
  if (end <= off_t{sizeof trailer} ||
      pread(file, &trailer, sizeof trailer, end - off_t{sizeof trailer}) !=
          ssize_t{sizeof trailer} ||
      trailer.magic != kMagic) {
    return nullptr;
  }
  auto offset = static_cast<off_t>(trailer.offset);
  void* memory = mmap(nullptr, static_cast<size_t>(end - offset), PROT_READ | PROT_WRITE,
                      MAP_SHARED, file, offset);
  close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<Machine*>(memory);
}

// A folder of the tree, the file `access` in it, and the device node that the file tells of.
void Show(const char* folder, u32 number) {
  char path[128];
  mkdir(folder, 0555);
  snprintf(path, sizeof path, "%s/access", folder);
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0444);
  if (file >= 0) {
    dprintf(file, "DeviceFileMinor: %u\nDeviceFileMode: 292\nDeviceFileModify: 1\n", number);
    close(file);
  }
  snprintf(path, sizeof path, "%s/nvidia-cap%u", kNodes, number);
  mkdir(kNodes, 0755);
  mknod(path, S_IFCHR | 0444, makedev(1, 3));
}

void Hide(const char* folder, u32 number) {
  char path[128];
  snprintf(path, sizeof path, "%s/nvidia-cap%u", kNodes, number);
  unlink(path);
  snprintf(path, sizeof path, "%s/access", folder);
  unlink(path);
  rmdir(folder);
}

void Parents(const Gpu& gpu) {
  char path[96];
  snprintf(path, sizeof path, "%s/gpu%u", kTree, gpu.minor);
  mkdir(path, 0555);
  strcat(path, "/mig");
  mkdir(path, 0555);
}

// Brings the files of one GPU in line; `shown` says which are there.
void Follow(const Gpu& gpu, bool (&shown)[kSlots]) {
  for (u32 id = 0; id < kMaxGpuInstances; ++id) {
    bool used = __atomic_load_n(&gpu.gpu_instances[id].used, __ATOMIC_ACQUIRE) != 0;
    char owner[96], folder[112];
    snprintf(owner, sizeof owner, "%s/gpu%u/mig/gi%u", kTree, gpu.minor, id);
    bool& own = shown[size_t{id} * kCapsOfGpuInstance];
    if (used && !own) {
      Parents(gpu);
      Show(owner, CapOfGpuInstance(gpu.minor, id));
    }
    for (u32 compute = 0; compute < kMaxComputeInstances; ++compute) {
      bool wanted = used && ComputeInstanceOf(gpu, id, compute).slices != 0;
      bool& now = shown[size_t{id} * kCapsOfGpuInstance + 1 + compute];
      if (wanted == now) continue;
      snprintf(folder, sizeof folder, "%s/ci%u", owner, compute);
      (wanted ? Show : Hide)(folder, CapOfComputeInstance(gpu.minor, id, compute));
      now = wanted;
    }
    if (!used && own) Hide(owner, CapOfGpuInstance(gpu.minor, id));
    own = used;
  }
}

void FollowAll(const Machine& machine, bool (&shown)[kMaxGpus][kSlots]) {
  const auto* gpus =
      reinterpret_cast<const Gpu*>(reinterpret_cast<const char*>(&machine) + machine.gpus_offset);
  for (u32 i = 0; i < machine.gpu_count; ++i) {
    if (gpus[i].mig_capable == 1) Follow(gpus[i], shown[i]);
  }
}

long Futex(u32* word, int operation, u32 value) {
  return syscall(SYS_futex, word, operation, value, nullptr, nullptr, 0);
}

// Answers the wake word `seen`: the files are as the machine is now.
void Publish(Machine& machine, u32 seen) {
  __atomic_store_n(&machine.kept, seen, __ATOMIC_RELEASE);
  Futex(&machine.kept, FUTEX_WAKE, 0x7fffffff);
}

bool GoToBackground(const char* pid_file) {
  pid_t child = fork();
  if (child != 0) _exit(child < 0 ? 1 : 0);
  setsid();
  int file = open(pid_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return false;
  dprintf(file, "%d\n", getpid());
  close(file);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int stream = 0; stream <= 2; ++stream) dup2(null, stream);
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  Machine* machine = count == 3 ? Map(arguments[1]) : nullptr;
  if (machine == nullptr) {
    fprintf(stderr, "usage: fakegpu-capabilities LIBRARY PID_FILE (a library with a machine)\n");
    return 2;
  }
  struct sigaction end{};
  end.sa_handler = [](int) { Ended() = 1; };
  sigaction(SIGTERM, &end, nullptr);
  static bool shown[kMaxGpus][kSlots];
  u32 seen = __atomic_load_n(&machine->wake, __ATOMIC_ACQUIRE);
  FollowAll(*machine, shown);
  if (!GoToBackground(arguments[2])) return 1;
  Publish(*machine, seen);
  __atomic_store_n(&machine->keeper, 1, __ATOMIC_RELEASE);
  while (Ended() == 0) {
    Futex(&machine->wake, FUTEX_WAIT, seen);
    seen = __atomic_load_n(&machine->wake, __ATOMIC_ACQUIRE);
    FollowAll(*machine, shown);
    Publish(*machine, seen);
  }
  __atomic_store_n(&machine->keeper, 0, __ATOMIC_RELEASE);
  return 0;
}
