// SPDX-License-Identifier: Apache-2.0
// What a CDI document says, put into an OCI configuration: as containerd does it itself, for the
// containers that ask by environment variable instead.
#include "container/oci.h"

#include <algorithm>

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

// Takes out the entries of a list whose `key` has that value.
void RemoveWhere(Json& list, const char* key, const std::string& value) {
  for (auto it = list.begin(); it != list.end();) {
    it = TextAt(*it, key) == value ? list.erase(it) : it + 1;
  }
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

Status AddDevice(const CdiDeviceNode& node, const DeviceLookup& lookup, Json& linux_part) {
  TRY_ASSIGN(const DeviceNumbers numbers,
             lookup(node.host_path.empty() ? node.path : node.host_path));
  const std::string type(1, numbers.type);
  Json& devices = ArrayAt(linux_part, "devices");
  RemoveWhere(devices, "path", node.path);
  devices.push_back({{"path", node.path},
                     {"type", type},
                     {"major", numbers.major},
                     {"minor", numbers.minor},
                     {"fileMode", numbers.mode},
                     {"uid", numbers.uid},
                     {"gid", numbers.gid}});
  Json rule = {{"allow", true},
               {"type", type},
               {"major", numbers.major},
               {"minor", numbers.minor},
               {"access", "rwm"}};
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
    TRY(AddDevice(node, lookup, ObjectAt(config, "linux")));
  }
  if (!edits.mounts.empty()) {
    Json& mounts = ArrayAt(config, "mounts");
    for (const CdiMount& mount : edits.mounts) {
      RemoveWhere(mounts, "destination", mount.container_path);
      mounts.push_back({{"destination", mount.container_path},
                        {"type", "bind"},
                        {"source", mount.host_path},
                        {"options", mount.options}});
    }
  }
  for (const CdiHook& hook : edits.hooks) {
    Json entry = {{"path", hook.path}, {"args", hook.args}};
    if (!hook.env.empty()) {
      entry["env"] = hook.env;
    }
    Json& list = ArrayAt(ObjectAt(config, "hooks"), hook.name.c_str());
    if (std::ranges::find(list, entry) == list.end()) {
      list.push_back(std::move(entry));
    }
  }
  return {};
}

}  // namespace gantry::container
