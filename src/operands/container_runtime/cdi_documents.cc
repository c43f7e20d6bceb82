// SPDX-License-Identifier: Apache-2.0
// Which CDI document do nvidia-ctk's flags and a node's inventory give?
#include "operands/container_runtime/cdi_documents.h"

#include <algorithm>

#include "base/text.h"
#include "container/nvidia_cdi.h"
#include "operands/container_runtime/device_edits.h"

namespace gantry::container_runtime {
namespace {

bool Has(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

Result<container::CdiInput> InputOf(const GenerateRequest& request,
                                    const container::NodeInventory& inventory) {
  container::CdiInput input;
  input.kind = request.kind;
  input.driver = inventory.driver;
  input.hook = request.hook;
  input.hook_switches = request.hook_switches;
  input.all_device = request.all_device;
  container::TakeFeatures(request.features, input);
  if (Has(request.hook_switches.enabled, "all")) {
    return Fail(ErrorKind::kInvalid, "read --enable-hook all: name the hooks");
  }
  return input;
}

// Keeps the requested GPUs and MIG devices.
Status Select(const std::vector<std::string>& devices, std::vector<container::CdiGpu>& gpus) {
  if (Has(devices, "all")) {
    return {};
  }
  std::vector<std::string> found;
  const auto wanted = [&](const std::string& uuid, const std::string& index) {
    const bool by_uuid = !uuid.empty() && Has(devices, uuid);
    if (by_uuid || Has(devices, index)) {
      found.push_back(by_uuid ? uuid : index);
      return true;
    }
    return false;
  };
  std::vector<container::CdiGpu> kept;
  for (container::CdiGpu& gpu : gpus) {
    const std::string index = format("{}", gpu.index);
    if (wanted(gpu.uuid, index)) {
      kept.push_back(WholeGpu(gpu));
    }
    std::erase_if(gpu.mig, [&](const container::CdiMig& mig) {
      return !wanted(mig.uuid, format("{}:{}", index, mig.index));
    });
    if (!gpu.mig.empty()) {
      gpu.mig_enabled = true;
      kept.push_back(std::move(gpu));
    }
  }
  for (const std::string& device : devices) {
    if (device != "none" && !Has(found, device)) {
      return Fail(ErrorKind::kNotFound, format("find device {}: the node has no such GPU", device));
    }
  }
  gpus = std::move(kept);
  return {};
}

Result<std::vector<container::CdiNaming>> NamingOf(const GenerateRequest& request) {
  std::vector<container::CdiNaming> naming;
  for (const std::string& name : request.names) {
    if (name != "index" && name != "uuid" && name != "type-index") {
      return Fail(
          ErrorKind::kInvalid,
          format("read --device-name-strategy {}: it is not index, type-index or uuid", name));
    }
    naming.push_back(name == "index"  ? container::CdiNaming::kIndex
                     : name == "uuid" ? container::CdiNaming::kUuid
                                      : container::CdiNaming::kTypeIndex);
  }
  return naming;
}

// A path at or below `from` as one at or below `to`, which both end without a slash; other paths do
// not change.
std::string Moved(const std::string& path, std::string_view from, std::string_view to) {
  const bool longer = path.size() > from.size();
  if (path.empty() || !path.starts_with(from) || (longer && path[from.size()] != '/')) {
    return path;
  }
  std::string moved = std::string(to) + path.substr(from.size());
  while (moved.ends_with('/')) {
    moved.pop_back();
  }
  return moved.empty() ? "/" : moved;
}

// An argument of a hook with each path in it converted: "<path>", "<target>::<link>", and either of
// them after "<name>=".
template <typename Change>
std::string WithPaths(const std::string& word, const Change& change) {
  const size_t equals = word.find('=');
  const size_t start = equals < word.find('/') ? equals + 1 : 0;
  const size_t middle = word.find("::", start);
  const std::string first = change(word.substr(start, middle - start));
  const std::string second =
      middle == std::string::npos ? "" : "::" + change(word.substr(middle + 2));
  return word.substr(0, start) + first + second;
}

}  // namespace

Result<container::CdiSpec> WorkloadDocument(const GenerateRequest& request,
                                            container::NodeInventory inventory) {
  TRY_ASSIGN(container::CdiInput input, InputOf(request, inventory));
  TRY_ASSIGN(input.naming, NamingOf(request));
  TRY(Select(request.devices, inventory.gpus));
  input.gpus = std::move(inventory.gpus);
  container::CdiSpec spec = container::NvidiaCdiFrom(input, inventory.files);
  if (Has(request.devices, "none")) {
    spec.devices = {{"none", {{"NVCT_EMPTY_DEVICE="}, {}, {}, {}}}};
  }
  return spec;
}

Result<container::CdiSpec> ManagementDocument(const GenerateRequest& request,
                                              container::NodeInventory inventory) {
  TRY_ASSIGN(container::CdiInput input, InputOf(request, inventory));
  if (inventory.files.all_nodes.empty()) {
    return Fail(ErrorKind::kNotFound, format("describe GPUs: no device node /dev/nvidia* under {}",
                                             input.driver.dev_root));
  }
  return container::ManagementCdiFrom(input, inventory.files);
}

Result<std::vector<std::string>> BoardNames(const GenerateRequest& request) {
  TRY_ASSIGN(const std::vector<container::CdiNaming> naming, NamingOf(request));
  std::vector<std::string> names;
  for (const container::CdiNaming each : naming) {
    if (each != container::CdiNaming::kUuid) {
      names.emplace_back(each == container::CdiNaming::kIndex ? "0" : "gpu0");
    }
  }
  if (request.all_device) {
    names.emplace_back("all");
  }
  if (names.empty()) {
    return Fail(ErrorKind::kInvalid, "read --device-name-strategy uuid: the board's GPU has none");
  }
  return names;
}

void TransformRoot(std::string_view from, std::string_view to, bool in_container,
                   container::CdiSpec& spec) {
  while (from.ends_with('/')) {
    from.remove_suffix(1);
  }
  while (to.ends_with('/')) {
    to.remove_suffix(1);
  }
  const auto moved = [&](const std::string& path) { return Moved(path, from, to); };
  const auto move = [&](std::string& path) { path = moved(path); };
  const auto move_words = [&](std::vector<std::string>& words) {
    for (std::string& word : words) {
      word = WithPaths(word, moved);
    }
  };
  const auto edits = [&](container::CdiEdits& each) {
    for (container::CdiDeviceNode& node : each.device_nodes) {
      if (in_container) {
        node.host_path = node.host_path.empty() ? node.path : node.host_path;
        move(node.path);
      } else {
        std::string host = node.host_path.empty() ? node.path : node.host_path;
        move(host);
        node.host_path = host;
      }
      node.host_path = node.host_path == node.path ? "" : node.host_path;
    }
    for (container::CdiMount& mount : each.mounts) {
      move(in_container ? mount.container_path : mount.host_path);
    }
    for (container::CdiHook& hook : each.hooks) {
      // A startContainer hook's program is in the container too; its arguments and those of a
      // createContainer hook are container paths.
      const bool starts = hook.name == "startContainer";
      if (starts == in_container) {
        move(hook.path);
      }
      if ((starts || hook.name == "createContainer") == in_container) {
        move_words(hook.args);
      }
    }
  };
  edits(spec.edits);
  for (container::CdiDevice& device : spec.devices) {
    edits(device.edits);
  }
}

}  // namespace gantry::container_runtime
