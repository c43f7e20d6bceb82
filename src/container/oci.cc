// SPDX-License-Identifier: Apache-2.0
// How are a CDI document's edits applied to an OCI configuration? As containerd does, but for the
// containers that request GPUs by environment variable.
#include "container/oci.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/paths.h"
#include "base/text.h"

namespace gantry::container {
namespace {

Json& ObjectAt(Json& parent, const char* key) {
  Json& child = parent[key];
  if (!child.is_object()) {
    child = Json::object();
  }
  return child;
}

Json& ArrayAt(Json& parent, const char* key) {
  Json& child = parent[key];
  if (!child.is_array()) {
    child = Json::array();
  }
  return child;
}

// Removes the entries of a list whose `key` has that value.
void RemoveWhere(Json& list, const char* key, const std::string& value) {
  for (auto it = list.begin(); it != list.end();) {
    it = TextAt(*it, key) == value ? list.erase(it) : it + 1;
  }
}

// How many components a path has.
size_t Depth(std::string_view path) {
  size_t depth = 0;
  for (size_t at = path.find_first_not_of('/'); at < path.size();
       at = path.find_first_not_of('/', path.find('/', at))) {
    ++depth;
  }
  return depth;
}

// Mounts on a folder come before mounts inside it, which they would hide.
void SortByDepth(Json& mounts) {
  std::vector<std::pair<size_t, size_t>> order;  // depth, index before
  for (const Json& mount : mounts) {
    order.emplace_back(Depth(TextAt(mount, "destination")), order.size());
  }
  std::ranges::sort(order);
  Json sorted = Json::array();
  for (const auto& [depth, place] : order) {
    sorted.push_back(std::move(mounts[place]));
  }
  mounts = std::move(sorted);
}

void SetEnvironment(Json& list, const std::string& assignment) {
  const std::string name = assignment.substr(0, assignment.find('=') + 1);
  for (Json& entry : list) {
    if (entry.is_string() && entry.get_ref<const std::string&>().starts_with(name)) {
      entry = assignment;
      return;
    }
  }
  list.push_back(assignment);
}

// The owner of a device node that the document does not set: the user of the container's process,
// if not root. A group that the process gets for its nodes keeps them.
struct ProcessOwner {
  unsigned uid;
  unsigned gid;
};
ProcessOwner OwnerOf(const DeviceNumbers& numbers, const CdiEdits& edits, const Json& config) {
  const auto uid = static_cast<unsigned>(IntAt(config, "process.user.uid", 0));
  const auto gid = static_cast<unsigned>(IntAt(config, "process.user.gid", 0));
  const bool given =
      std::ranges::find(edits.additional_gids, numbers.gid) != edits.additional_gids.end();
  return {uid > 0 ? uid : numbers.uid, gid > 0 && !given ? gid : numbers.gid};
}

Status AddDevice(const CdiDeviceNode& node, const CdiEdits& edits, const DeviceLookup& lookup,
                 Json& config) {
  DeviceNumbers numbers;
  const bool numbered = node.major.value_or(0) != 0;
  if (node.type.empty() || (!numbered && node.type != "p")) {
    TRY_ASSIGN(numbers, lookup(node.host_path.empty() ? node.path : node.host_path));
  }
  const std::string type = node.type.empty() ? std::string(1, numbers.type) : node.type;
  const long long major = numbered ? *node.major : numbers.major;
  const long long minor = numbered ? node.minor.value_or(0) : numbers.minor;
  const ProcessOwner owner = OwnerOf(numbers, edits, config);
  Json& linux_part = ObjectAt(config, "linux");
  Json& devices = ArrayAt(linux_part, "devices");
  RemoveWhere(devices, "path", node.path);
  devices.push_back({{"path", node.path},
                     {"type", type},
                     {"major", major},
                     {"minor", minor},
                     {"fileMode", node.file_mode.value_or(numbers.mode)},
                     {"uid", node.uid.value_or(owner.uid)},
                     {"gid", node.gid.value_or(owner.gid)}});
  if (type != "c" && type != "b") {
    return {};
  }
  // In the configuration, so that the runtime sets the rule again: systemd drops rules that it does
  // not know when it reloads its units.
  Json rule = {{"allow", true},
               {"type", type},
               {"major", major},
               {"minor", minor},
               {"access", node.permissions.empty() ? "rwm" : node.permissions}};
  Json& rules = ArrayAt(ObjectAt(linux_part, "resources"), "devices");
  if (std::ranges::find(rules, rule) == rules.end()) {
    rules.push_back(std::move(rule));
  }
  return {};
}

}  // namespace

OciRequest ReadOciRequest(const Json& config) {
  OciRequest request;
  if (const Json* list = At(config, "process.env"); list != nullptr && list->is_array()) {
    for (const Json& entry : *list) {
      if (entry.is_string()) {
        request.environment.push_back(entry.get<std::string>());
      }
    }
  }
  if (const Json* list = At(config, "process.capabilities.bounding");
      list != nullptr && list->is_array()) {
    request.privileged = std::ranges::find(*list, "CAP_SYS_ADMIN") != list->end();
  }
  return request;
}

std::optional<std::string> OciEnvironment(const OciRequest& request, std::string_view name) {
  std::optional<std::string> found;
  for (const std::string& entry : request.environment) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      found = entry.substr(name.size() + 1);  // the last one counts, as in execve
    }
  }
  return found;
}

Status ApplyEdits(const CdiEdits& edits, const DeviceLookup& lookup, Json& config) {
  if (!edits.env.empty()) {
    Json& list = ArrayAt(ObjectAt(config, "process"), "env");
    for (const std::string& assignment : edits.env) {
      SetEnvironment(list, assignment);
    }
  }
  for (const CdiDeviceNode& node : edits.device_nodes) {
    TRY(AddDevice(node, edits, lookup, config));
  }
  if (!edits.mounts.empty()) {
    Json& mounts = ArrayAt(config, "mounts");
    for (const CdiMount& mount : edits.mounts) {
      RemoveWhere(mounts, "destination", mount.container_path);
      mounts.push_back({{"destination", mount.container_path},
                        {"type", mount.type.empty() ? "bind" : mount.type},
                        {"source", mount.host_path},
                        {"options", mount.options}});
    }
    SortByDepth(mounts);
  }
  for (const CdiHook& hook : edits.hooks) {
    Json entry = {{"path", hook.path}, {"args", hook.args}};
    if (!hook.env.empty()) {
      entry["env"] = hook.env;
    }
    if (hook.timeout) {
      entry["timeout"] = *hook.timeout;
    }
    Json& list = ArrayAt(ObjectAt(config, "hooks"), hook.name.c_str());
    if (std::ranges::find(list, entry) == list.end()) {
      list.push_back(std::move(entry));
    }
  }
  for (const unsigned gid : edits.additional_gids) {
    Json& list = ArrayAt(ObjectAt(ObjectAt(config, "process"), "user"), "additionalGids");
    if (std::ranges::find(list, Json(gid)) == list.end()) {
      list.push_back(gid);
    }
  }
  if (!edits.intel_rdt.empty()) {
    ObjectAt(ObjectAt(config, "linux"), "intelRdt")
        .update(ParseJson(edits.intel_rdt).value_or(Json::object()));
  }
  for (const Json& device : edits.net_devices.empty()
                                ? Json::array()
                                : ParseJson(edits.net_devices).value_or(Json::array())) {
    ObjectAt(ObjectAt(config, "linux"), "netDevices")[TextAt(device, "hostInterfaceName")] = {
        {"name", TextAt(device, "name")}};
  }
  return {};
}

void RemoveNvidiaHook(Json& config) {
  Json* hooks = config.is_object() && config.contains("hooks") ? &config["hooks"] : nullptr;
  if (hooks == nullptr || !hooks->is_object() || !hooks->contains("prestart")) {
    return;
  }
  Json& list = (*hooks)["prestart"];
  for (auto it = list.begin(); list.is_array() && it != list.end();) {
    const std::string name = BaseName(TextAt(*it, "path"));
    const bool ours = name == "nvidia-container-runtime-hook" || name == "nvidia-container-toolkit";
    it = ours ? list.erase(it) : it + 1;
  }
  if (list.empty()) {
    hooks->erase("prestart");
  }
}

}  // namespace gantry::container
