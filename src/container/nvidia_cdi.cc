// SPDX-License-Identifier: Apache-2.0
// Which CDI document do the driver's files and the GPUs of a node give? The common edits have what
// every container of the kind needs (libraries, control nodes, the hook); a device adds only its
// own nodes. The hooks do the work per container: links, library cache, CUDA forward compatibility,
// the driver's "may create device nodes" switch (cdi_hooks.h).
#include "container/nvidia_cdi.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/paths.h"
#include "base/text.h"

namespace gantry::container {
namespace {

constexpr char kCoherentAnnotation[] = "gpu.nvidia.com/coherent";

const std::vector<std::string>& SocketOptions() {
  static const std::vector<std::string> options = {"nosuid", "nodev", "rbind", "rprivate",
                                                   "noexec"};
  return options;
}

CdiMount FileMount(const CdiInput& input, const std::string& path, const std::string& real) {
  return {JoinPath(input.driver.host_root, real), path, FileMountOptions()};
}

CdiDeviceNode Node(const CdiInput& input, const std::string& path) {
  const std::string host_path = JoinPath(input.driver.host_dev_root, path);
  return {path, host_path == path ? "" : host_path};
}

void AddLibraries(const CdiInput& input, const std::vector<DriverLibrary>& libraries,
                  CdiEdits& edits) {
  for (const DriverLibrary& library : libraries) {
    edits.mounts.push_back(FileMount(input, library.path, library.real));
  }
}

void AddFiles(const CdiInput& input, const std::vector<DriverFile>& files, CdiEdits& edits) {
  for (const DriverFile& file : files) {
    edits.mounts.push_back(FileMount(input, file.path, file.real));
  }
}

void AddHooks(const CdiInput& input, const HookWork& work, CdiEdits& edits) {
  std::ranges::move(HooksFor(input.hook, input.hook_switches, work),
                    std::back_inserter(edits.hooks));
}

// Libraries that programs open by another name than the file's.
void AddLoadable(const std::vector<DriverLibrary>& libraries, HookWork& work) {
  for (const DriverLibrary& library : libraries) {
    if (!library.soname.empty() && BaseName(library.path).starts_with("lib")) {
      work.libraries.push_back({library.soname, library.path});
    }
  }
}

HookWork LinksToNodes(const CdiGpu& gpu) {
  HookWork work;
  for (const std::string& node : gpu.drm_nodes) {
    const std::string role = BaseName(node).starts_with("card") ? "-card" : "-render";
    work.device_links.push_back(
        {"../" + BaseName(node), format("/dev/dri/by-path/pci-{}{}", Lower(gpu.pci_bus_id), role)});
  }
  return work;
}

// The hooks' work in every container of the kind. One call of Gantry's program also makes the links
// of all GPUs whose nodes exist; NVIDIA's would make dangling links.
HookWork CommonWork(const CdiInput& input, const DriverInventory& found, bool workload) {
  HookWork work;
  for (const auto& [link, target] : found.links) {
    work.links.push_back({target, link});
  }
  work.driver_version = found.version;
  work.cuda_version = input.driver.cuda_version;
  AddLoadable(found.libraries, work);
  if (workload) {
    AddLoadable(found.graphics_libraries, work);
    work.disable_device_node_modification = true;
    work.update_application_profile = true;
  }
  for (const CdiGpu& gpu : input.gpus) {
    if (workload && input.hook.ours) {
      std::ranges::copy(LinksToNodes(gpu).device_links, std::back_inserter(work.device_links));
    }
  }
  return work;
}

// Mounts in the order in which they can be made: shallow paths first, each container path once.
void Tidy(CdiEdits& edits) {
  std::ranges::sort(edits.mounts, {}, [](const CdiMount& mount) {
    return std::tuple(std::ranges::count(mount.container_path, '/'), mount.container_path,
                      mount.host_path);
  });
  const auto mounts = std::ranges::unique(edits.mounts, {}, &CdiMount::container_path);
  edits.mounts.erase(mounts.begin(), mounts.end());
  std::ranges::sort(edits.device_nodes);
  const auto nodes = std::ranges::unique(edits.device_nodes);
  edits.device_nodes.erase(nodes.begin(), nodes.end());
  std::ranges::sort(edits.additional_gids);
  const auto gids = std::ranges::unique(edits.additional_gids);
  edits.additional_gids.erase(gids.begin(), gids.end());
}

CdiEdits CommonEdits(const CdiInput& input, const DriverInventory& found, bool workload) {
  CdiEdits edits;
  std::vector<std::string> cuda;
  for (const DriverLibrary& library : found.libraries) {
    if (BaseName(library.path).starts_with("libcuda.so.")) {
      cuda.push_back(ParentOf(library.path));
    }
  }
  if (!cuda.empty()) {
    edits.env.push_back("NVIDIA_CTK_LIBCUDA_DIR=" + Join(cuda, ":"));
  }
  // The image's environment variable must not request all GPUs again.
  edits.env.emplace_back("NVIDIA_VISIBLE_DEVICES=void");
  AddLibraries(input, found.libraries, edits);
  AddFiles(input, found.programs, edits);
  AddFiles(input, found.firmware, edits);
  if (workload) {
    AddLibraries(input, found.graphics_libraries, edits);
    AddFiles(input, found.configs, edits);
  }
  if (input.sockets) {
    for (const DriverFile& socket : found.sockets) {
      edits.mounts.push_back({socket.real, socket.path, SocketOptions()});
    }
  }
  AddHooks(input, CommonWork(input, found, workload), edits);
  return edits;
}

// The names of a GPU, or of the MIG device at `mig` in it.
std::vector<std::string> DeviceNames(const CdiInput& input, const CdiGpu& gpu, const CdiMig* mig) {
  const std::string index =
      mig == nullptr ? format("{}", gpu.index) : format("{}:{}", gpu.index, mig->index);
  std::vector<std::string> names;
  for (const CdiNaming naming : input.naming) {
    switch (naming) {
      case CdiNaming::kUuid:
        names.push_back(mig == nullptr ? gpu.uuid : mig->uuid);
        break;
      case CdiNaming::kIndex:
        names.push_back(index);
        break;
      case CdiNaming::kTypeIndex:
        names.push_back((mig == nullptr ? "gpu" : "mig") + index);
        break;
    }
  }
  std::erase(names, "");  // a UUID that the driver does not report
  return names;
}

CdiEdits DeviceEdits(const CdiInput& input, const DriverInventory& found, const CdiGpu& gpu,
                     const CdiMig* mig) {
  std::vector<std::string> paths = {format("/dev/nvidia{}", gpu.minor)};
  const auto add = [&](const std::vector<std::string>& more) {
    paths.insert(paths.end(), more.begin(), more.end());
  };
  add(gpu.nodes);
  if (mig != nullptr) {
    add(mig->nodes);
  }
  if (mig == nullptr || mig->graphics) {
    add(gpu.drm_nodes);
  }
  CdiEdits edits;
  for (const std::string& path : paths) {
    edits.device_nodes.push_back(Node(input, path));
    const auto group = found.node_groups.find(path);
    if (group != found.node_groups.end() && input.additional_gids) {
      edits.additional_gids.push_back(group->second);
    }
  }
  if (!input.hook.ours && (mig == nullptr || mig->graphics)) {
    AddHooks(input, LinksToNodes(gpu), edits);
  }
  Tidy(edits);
  return edits;
}

}  // namespace

const std::vector<std::string>& FileMountOptions() {
  static const std::vector<std::string> options = {"ro", "nosuid", "nodev", "rbind", "rprivate"};
  return options;
}

const std::vector<std::string_view>& CdiFeatures() {
  static const std::vector<std::string_view> features = {"enable-explicit-driver-libraries",
                                                         "disable-nvsandboxutils",
                                                         "disable-nvsandbox-utils",
                                                         "enable-coherent-annotations",
                                                         "disable-multiple-csv-devices",
                                                         "no-additional-gids-for-device-nodes",
                                                         "disable-ipc-discoverer"};
  return features;
}

void TakeFeatures(const std::vector<std::string>& features, CdiInput& input) {
  for (const std::string& feature : features) {
    if (feature == "enable-explicit-driver-libraries") {
      input.driver.every_library = true;
    } else if (feature == "enable-coherent-annotations") {
      input.coherence = true;
    } else if (feature == "no-additional-gids-for-device-nodes") {
      input.additional_gids = false;
    } else if (feature == "disable-ipc-discoverer") {
      input.sockets = false;
    }
  }
}

CdiSpec NvidiaCdiFrom(const CdiInput& input, const DriverInventory& found) {
  CdiSpec spec;
  spec.kind = input.kind;
  spec.edits = CommonEdits(input, found, true);
  for (const std::string& node : found.control_nodes) {
    spec.edits.device_nodes.push_back(Node(input, node));
  }
  Tidy(spec.edits);
  CdiEdits all;
  const auto add = [&](const CdiGpu& gpu, const CdiMig* mig) {
    const CdiEdits edits = DeviceEdits(input, found, gpu, mig);
    for (const std::string& name : DeviceNames(input, gpu, mig)) {
      spec.devices.push_back({name, edits});
      if (input.coherence && mig == nullptr && gpu.coherent) {
        spec.devices.back().annotations[kCoherentAnnotation] = *gpu.coherent ? "true" : "false";
      }
    }
    AppendEdits(edits, all);
  };
  for (const CdiGpu& gpu : input.gpus) {
    if (!gpu.mig_enabled) {
      add(gpu, nullptr);
    }
    for (const CdiMig& mig : gpu.mig) {
      add(gpu, &mig);
    }
  }
  if (input.all_device && !spec.devices.empty()) {
    Tidy(all);
    spec.devices.push_back({"all", std::move(all)});
  }
  std::ranges::sort(spec.devices, {}, &CdiDevice::name);
  return spec;
}

std::vector<CdiPart> PartsByCoherence(const CdiSpec& spec, bool all_device) {
  std::vector<CdiPart> parts;
  for (const auto& [value, infix] :
       {std::pair{"true", ".coherent"}, std::pair{"false", ".noncoherent"}}) {
    CdiSpec part = {spec.kind + infix, {}, spec.edits, spec.annotations};
    CdiEdits all;
    for (const CdiDevice& device : spec.devices) {
      const auto annotation = device.annotations.find(kCoherentAnnotation);
      if (annotation == device.annotations.end() || annotation->second != value) {
        continue;
      }
      part.devices.push_back(device);
      part.devices.back().annotations.erase(kCoherentAnnotation);  // the class implies it
      AppendEdits(device.edits, all);
    }
    if (part.devices.empty()) {
      continue;
    }
    if (all_device) {
      Tidy(all);
      part.devices.push_back({"all", std::move(all)});
    }
    parts.push_back({infix, std::move(part)});
  }
  return parts;
}

CdiSpec ManagementCdiFrom(const CdiInput& input, const DriverInventory& found) {
  CdiSpec spec;
  spec.kind = input.kind;
  spec.edits = CommonEdits(input, found, false);
  Tidy(spec.edits);
  CdiDevice all{"all", {}};
  for (const std::string& node : found.all_nodes) {
    all.edits.device_nodes.push_back(Node(input, node));
  }
  Tidy(all.edits);
  spec.devices.push_back(std::move(all));
  return spec;
}

Result<CdiSpec> NvidiaCdi(const CdiInput& input) {
  TRY_ASSIGN(const DriverInventory found, FindDriverFiles(input.driver));
  CdiInput complete = input;
  for (CdiGpu& gpu : complete.gpus) {
    gpu.drm_nodes = DrmNodes(input.driver, gpu.pci_bus_id);
  }
  return NvidiaCdiFrom(complete, found);
}

Result<CdiSpec> ManagementCdi(const CdiInput& input) {
  TRY_ASSIGN(const DriverInventory found, FindDriverFiles(input.driver));
  if (found.all_nodes.empty()) {
    return Fail(ErrorKind::kNotFound, format("describe GPUs: no device node /dev/nvidia* under {}",
                                             input.driver.dev_root));
  }
  return ManagementCdiFrom(input, found);
}

}  // namespace gantry::container
