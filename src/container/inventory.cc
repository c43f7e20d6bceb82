// SPDX-License-Identifier: Apache-2.0
// How is the inventory stored as text? Programs of one release, installed on a host together, write
// and read it. So text of another version is rejected.
#include "container/inventory.h"

#include <array>

#include "base/json.h"
#include "base/text.h"

namespace gantry::container {
namespace {

constexpr int kVersion = 1;

using Texts = std::vector<std::string>;

Json LibrariesJson(const std::vector<DriverLibrary>& libraries) {
  Json list = Json::array();
  for (const DriverLibrary& library : libraries) {
    list.push_back({library.path, library.real, library.soname});
  }
  return list;
}

Json FilesJson(const std::vector<DriverFile>& files) {
  Json list = Json::array();
  for (const DriverFile& file : files) {
    list.push_back({file.path, file.real});
  }
  return list;
}

Json GpuJson(const CdiGpu& gpu, const GpuKind& kind) {
  Json json = {{"uuid", gpu.uuid},
               {"index", gpu.index},
               {"minor", gpu.minor},
               {"pci", gpu.pci_bus_id},
               {"nodes", gpu.nodes},
               {"drm", gpu.drm_nodes},
               {"migEnabled", gpu.mig_enabled},
               {"mig", Json::array()},
               {"brand", kind.brand},
               {"architecture", kind.architecture}};
  if (gpu.coherent) {
    json["coherent"] = *gpu.coherent;
  }
  for (const CdiMig& mig : gpu.mig) {
    json["mig"].push_back({{"uuid", mig.uuid},
                           {"index", mig.index},
                           {"nodes", mig.nodes},
                           {"graphics", mig.graphics}});
  }
  return json;
}

// The lists of `count` strings each under a key.
std::vector<Texts> RowsAt(const Json& json, const char* key, size_t count) {
  std::vector<Texts> rows;
  for (const Json& entry : ListAt(json, key)) {
    if (Texts row = TextsIn(entry); row.size() == count) {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::vector<DriverLibrary> LibrariesAt(const Json& json, const char* key) {
  std::vector<DriverLibrary> libraries;
  for (Texts& row : RowsAt(json, key, 3)) {
    libraries.push_back({std::move(row[0]), std::move(row[1]), std::move(row[2])});
  }
  return libraries;
}

std::vector<DriverFile> FilesAt(const Json& json, const char* key) {
  std::vector<DriverFile> files;
  for (Texts& row : RowsAt(json, key, 2)) {
    files.push_back({std::move(row[0]), std::move(row[1])});
  }
  return files;
}

CdiGpu GpuFrom(const Json& json) {
  CdiGpu gpu;
  gpu.uuid = TextAt(json, "uuid");
  gpu.index = static_cast<int>(IntAt(json, "index", 0));
  gpu.minor = static_cast<int>(IntAt(json, "minor", 0));
  gpu.pci_bus_id = TextAt(json, "pci");
  gpu.nodes = TextsAt(json, "nodes");
  gpu.drm_nodes = TextsAt(json, "drm");
  gpu.mig_enabled = BoolAt(json, "migEnabled", false);
  if (At(json, "coherent") != nullptr) {
    gpu.coherent = BoolAt(json, "coherent", false);
  }
  const Json* list = At(json, "mig");
  if (list != nullptr && list->is_array()) {
    for (const Json& entry : *list) {
      gpu.mig.push_back({TextAt(entry, "uuid"), static_cast<int>(IntAt(entry, "index", 0)),
                         TextsAt(entry, "nodes"), BoolAt(entry, "graphics", false)});
    }
  }
  return gpu;
}

DriverInventory DriverFilesFrom(const Json& json) {
  DriverInventory files;
  files.version = TextAt(json, "version");
  files.libraries = LibrariesAt(json, "libraries");
  files.graphics_libraries = LibrariesAt(json, "graphicsLibraries");
  files.programs = FilesAt(json, "programs");
  files.configs = FilesAt(json, "configs");
  files.firmware = FilesAt(json, "firmware");
  files.sockets = FilesAt(json, "sockets");
  for (Texts& row : RowsAt(json, "links", 2)) {
    files.links[std::move(row[0])] = std::move(row[1]);
  }
  files.control_nodes = TextsAt(json, "controlNodes");
  files.all_nodes = TextsAt(json, "allNodes");
  if (const Json* groups = At(json, "nodeGroups"); groups != nullptr && groups->is_object()) {
    for (const auto& [node, group] : groups->items()) {
      files.node_groups[node] = group.is_number_unsigned() ? group.get<unsigned>() : 0;
    }
  }
  return files;
}

}  // namespace

std::string InventoryText(const NodeInventory& inventory) {
  const DriverInventory& files = inventory.files;
  Json links = Json::array();
  for (const auto& [link, target] : files.links) {
    links.push_back({link, target});
  }
  Json json = {{"inventory", kVersion},
               {"root", inventory.driver.host_root},
               {"devRoot", inventory.driver.host_dev_root},
               {"cuda", inventory.driver.cuda_version},
               {"version", files.version},
               {"libraries", LibrariesJson(files.libraries)},
               {"graphicsLibraries", LibrariesJson(files.graphics_libraries)},
               {"programs", FilesJson(files.programs)},
               {"configs", FilesJson(files.configs)},
               {"firmware", FilesJson(files.firmware)},
               {"sockets", FilesJson(files.sockets)},
               {"links", std::move(links)},
               {"controlNodes", files.control_nodes},
               {"allNodes", files.all_nodes},
               {"nodeGroups", Json::object()},
               {"gpus", Json::array()}};
  for (const auto& [node, group] : files.node_groups) {
    json["nodeGroups"][node] = group;
  }
  for (size_t i = 0; i < inventory.gpus.size(); ++i) {
    json["gpus"].push_back(
        GpuJson(inventory.gpus[i], i < inventory.kinds.size() ? inventory.kinds[i] : GpuKind{}));
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<NodeInventory> ParseInventory(std::string_view text) {
  TRY_ASSIGN(const Json json, ParseJson(text));
  if (!json.is_object() || IntAt(json, "inventory", 0) != kVersion) {
    return Fail(ErrorKind::kInvalid, "read the inventory: it is not of this version");
  }
  NodeInventory inventory;
  inventory.driver.host_root = TextAt(json, "root", "/");
  inventory.driver.host_dev_root = TextAt(json, "devRoot", "/");
  inventory.driver.cuda_version = TextAt(json, "cuda");
  inventory.files = DriverFilesFrom(json);
  inventory.driver.version = inventory.files.version;
  const Json* gpus = At(json, "gpus");
  if (gpus != nullptr && gpus->is_array()) {
    for (const Json& entry : *gpus) {
      inventory.gpus.push_back(GpuFrom(entry));
      inventory.kinds.push_back({TextAt(entry, "brand"), TextAt(entry, "architecture")});
    }
  }
  return inventory;
}

}  // namespace gantry::container
