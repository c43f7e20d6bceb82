// SPDX-License-Identifier: Apache-2.0
// How are CDI documents read and written? Written in the oldest version that has everything in it
// (0.5.0 for `hostPath`), because containerd 1.7 rejects the entire file if its version is unknown.
#include "container/cdi.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/text.h"
#include "container/cdi_rules.h"
#include "container/yaml_text.h"

namespace gantry::container {
namespace {

constexpr char kOldestWritten[] = "0.5.0";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsLetterOrDigit(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Letters, digits and `marks`, but no mark at either end.
bool IsWord(std::string_view text, std::string_view marks) {
  return !text.empty() && IsLetterOrDigit(text.front()) && IsLetterOrDigit(text.back()) &&
         std::ranges::all_of(text, [&](char c) {
           return IsLetterOrDigit(c) || marks.find(c) != std::string_view::npos;
         });
}

template <typename T>
void PutIfSet(Json& json, const char* key, const std::optional<T>& value) {
  if (value) {
    json[key] = *value;
  }
}
void PutIfSet(Json& json, const char* key, const std::string& value) {
  if (!value.empty()) {
    json[key] = value;
  }
}

Json EditsJson(const CdiEdits& edits) {
  Json json = Json::object();
  if (!edits.env.empty()) {
    json["env"] = edits.env;
  }
  for (const CdiDeviceNode& node : edits.device_nodes) {
    Json entry = {{"path", node.path}};
    PutIfSet(entry, "hostPath", node.host_path);
    PutIfSet(entry, "type", node.type);
    PutIfSet(entry, "major", node.major);
    PutIfSet(entry, "minor", node.minor);
    PutIfSet(entry, "fileMode", node.file_mode);
    PutIfSet(entry, "permissions", node.permissions);
    PutIfSet(entry, "uid", node.uid);
    PutIfSet(entry, "gid", node.gid);
    json["deviceNodes"].push_back(std::move(entry));
  }
  for (const CdiMount& mount : edits.mounts) {
    Json entry = {{"hostPath", mount.host_path},
                  {"containerPath", mount.container_path},
                  {"options", mount.options}};
    PutIfSet(entry, "type", mount.type);
    json["mounts"].push_back(std::move(entry));
  }
  for (const CdiHook& hook : edits.hooks) {
    Json entry = {{"hookName", hook.name}, {"path", hook.path}, {"args", hook.args}};
    if (!hook.env.empty()) {
      entry["env"] = hook.env;
    }
    PutIfSet(entry, "timeout", hook.timeout);
    json["hooks"].push_back(std::move(entry));
  }
  if (!edits.additional_gids.empty()) {
    json["additionalGids"] = edits.additional_gids;
  }
  if (!edits.intel_rdt.empty()) {
    json["intelRdt"] = ParseJson(edits.intel_rdt).value_or(Json::object());
  }
  if (!edits.net_devices.empty()) {
    json["netDevices"] = ParseJson(edits.net_devices).value_or(Json::array());
  }
  return json;
}

// Walks a document and remembers its first mistake.
class Reader {
 public:
  Result<CdiSpec> Read(const Json& json) {
    CdiSpec spec;
    Known(json, "", {"cdiVersion", "kind", "annotations", "devices", "containerEdits"});
    spec.version = TextAt(json, "cdiVersion");
    spec.kind = Text(json, "kind", "kind");
    spec.annotations = Annotations(json);
    if (!ParseCdiName(spec.kind + "=x")) {
      Wrong(ErrorKind::kInvalid, "kind " + spec.kind, "is not <vendor>/<class>");
    }
    if (const Json* edits = Child(json, "containerEdits")) {
      spec.edits = Edits(*edits, "containerEdits");
    }
    for (const Json& entry : Array(json, "devices", "devices")) {
      Known(entry, "devices", {"name", "annotations", "containerEdits"});
      CdiDevice device;
      device.name = Text(entry, "name", "devices.name");
      if (!ParseCdiName("x/x=" + device.name)) {
        Wrong(ErrorKind::kInvalid, "devices.name " + device.name, "is no name that CDI allows");
      }
      device.annotations = Annotations(entry);
      if (const Json* edits = Child(entry, "containerEdits")) {
        device.edits = Edits(*edits, "devices.containerEdits");
      }
      spec.devices.push_back(std::move(device));
    }
    if (!error_.message.empty()) {
      return std::unexpected(error_);
    }
    return spec;
  }

 private:
  CdiEdits Edits(const Json& json, std::string_view where) {
    CdiEdits edits;
    Known(json, where,
          {"env", "deviceNodes", "mounts", "hooks", "additionalGids", "intelRdt", "netDevices"});
    edits.env = Texts(json, "env", where);
    for (const Json& entry : Array(json, "deviceNodes", where)) {
      Known(
          entry, where,
          {"path", "hostPath", "type", "major", "minor", "fileMode", "permissions", "uid", "gid"});
      CdiDeviceNode node{Text(entry, "path", where), TextAt(entry, "hostPath")};
      node.type = TextAt(entry, "type");
      node.major = Number<long long>(entry, "major", where);
      node.minor = Number<long long>(entry, "minor", where);
      node.file_mode = Number<unsigned>(entry, "fileMode", where);
      node.permissions = TextAt(entry, "permissions");
      node.uid = Number<unsigned>(entry, "uid", where);
      node.gid = Number<unsigned>(entry, "gid", where);
      edits.device_nodes.push_back(std::move(node));
    }
    for (const Json& entry : Array(json, "mounts", where)) {
      Known(entry, where, {"hostPath", "containerPath", "options", "type"});
      edits.mounts.push_back({Text(entry, "hostPath", where), Text(entry, "containerPath", where),
                              Texts(entry, "options", where), TextAt(entry, "type")});
    }
    for (const Json& entry : Array(json, "hooks", where)) {
      Known(entry, where, {"hookName", "path", "args", "env", "timeout"});
      edits.hooks.push_back({Text(entry, "hookName", where), Text(entry, "path", where),
                             Texts(entry, "args", where), Texts(entry, "env", where),
                             Number<long long>(entry, "timeout", where)});
    }
    for (const Json& entry : Array(json, "additionalGids", where)) {
      if (!entry.is_number_unsigned() || entry.get<uint64_t>() > UINT32_MAX) {
        Wrong(ErrorKind::kInvalid, format("{} (additionalGids)", where),
              "is not a list of numbers");
        break;
      }
      edits.additional_gids.push_back(entry.get<unsigned>());
    }
    if (const Json* rdt = Child(json, "intelRdt"); rdt != nullptr && rdt->is_object()) {
      edits.intel_rdt = Dump(*rdt);
    }
    if (const Json& list = Array(json, "netDevices", where); !list.empty()) {
      edits.net_devices = Dump(list);
    }
    return edits;
  }

  // nlohmann throws at text that is not UTF-8; it is replaced instead.
  static std::string Dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  std::map<std::string, std::string> Annotations(const Json& json) {
    std::map<std::string, std::string> annotations;
    const Json* object = Child(json, "annotations");
    if (object == nullptr || object->is_null()) {
      return annotations;
    }
    if (!object->is_object()) {
      Wrong(ErrorKind::kInvalid, "annotations", "is not an object");
      return annotations;
    }
    for (const auto& [key, value] : object->items()) {
      if (value.is_string()) {
        annotations[key] = value.get<std::string>();
      } else {
        Wrong(ErrorKind::kInvalid, "annotations." + key, "is not a text");
      }
    }
    return annotations;
  }

  template <typename T>
  std::optional<T> Number(const Json& json, const char* key, std::string_view where) {
    const Json* value = Child(json, key);
    if (value == nullptr || value->is_null()) {
      return std::nullopt;
    }
    if (!value->is_number_integer() ||
        (std::is_unsigned_v<T> &&
         (!value->is_number_unsigned() || value->get<uint64_t>() > UINT32_MAX))) {
      Wrong(ErrorKind::kInvalid, format("{} ({})", where, key), "is not a number");
      return std::nullopt;
    }
    return value->get<T>();
  }

  void Wrong(ErrorKind kind, std::string_view field, std::string_view reason) {
    if (error_.message.empty()) {
      error_ = {kind, format("read cdi document: {} {}", field, reason)};
    }
  }

  void Known(const Json& json, std::string_view where,
             std::initializer_list<std::string_view> keys) {
    if (!json.is_object()) {
      Wrong(ErrorKind::kInvalid, where.empty() ? "document" : where, "is not an object");
      return;
    }
    for (const auto& [key, value] : json.items()) {
      if (std::ranges::find(keys, key) == keys.end()) {
        Wrong(ErrorKind::kUnsupported, where.empty() ? key : std::string(where) + "." + key,
              "is not known");
      }
    }
  }

  static const Json* Child(const Json& json, const char* key) {
    return json.is_object() && json.contains(key) ? &json.at(key) : nullptr;
  }

  std::string Text(const Json& json, const char* key, std::string_view where) {
    const Json* value = Child(json, key);
    if (value == nullptr || !value->is_string() || value->get_ref<const std::string&>().empty()) {
      Wrong(ErrorKind::kInvalid, format("{} ({})", where, key), "is not a text");
      return "";
    }
    return value->get<std::string>();
  }

  std::vector<std::string> Texts(const Json& json, const char* key, std::string_view where) {
    std::vector<std::string> texts;
    for (const Json& entry : Array(json, key, where)) {
      if (!entry.is_string()) {
        Wrong(ErrorKind::kInvalid, format("{} ({})", where, key), "is not a list of texts");
        return {};
      }
      texts.push_back(entry.get<std::string>());
    }
    return texts;
  }

  const Json& Array(const Json& json, const char* key, std::string_view where) {
    static const Json empty = Json::array();
    const Json* value = Child(json, key);
    if (value == nullptr || value->is_null()) {
      return empty;
    }
    if (!value->is_array()) {
      Wrong(ErrorKind::kInvalid, format("{} ({})", where, key), "is not a list");
      return empty;
    }
    return *value;
  }

  Error error_;
};

}  // namespace

Json CdiJson(const CdiSpec& spec) {
  Json json = {{"cdiVersion", std::max<std::string>(kOldestWritten, OldestCdiVersion(spec))},
               {"kind", spec.kind},
               {"devices", Json::array()}};
  for (const CdiDevice& device : spec.devices) {
    Json entry = {{"name", device.name}, {"containerEdits", EditsJson(device.edits)}};
    if (!device.annotations.empty()) {
      entry["annotations"] = device.annotations;
    }
    json["devices"].push_back(std::move(entry));
  }
  json["containerEdits"] = EditsJson(spec.edits);
  if (!spec.annotations.empty()) {
    json["annotations"] = spec.annotations;
  }
  return json;
}

std::string CdiText(const CdiSpec& spec) {
  return CdiJson(spec).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string CdiYaml(const CdiSpec& spec) { return YamlText(CdiJson(spec)); }

Result<CdiSpec> ParseCdi(std::string_view text) {
  const bool braces = Trim(text).starts_with('{');
  Result<Json> json = braces ? ParseJson(text) : ParseYaml(text);
  if (!json && braces) {
    json = ParseYaml(text);  // it has objects in braces too, with bare words
  }
  if (!json) {
    return std::unexpected(json.error());
  }
  return Reader().Read(*json);
}

void AppendEdits(const CdiEdits& from, CdiEdits& to) {
  const auto append = [](const auto& list, auto& onto) {
    onto.insert(onto.end(), list.begin(), list.end());
  };
  append(from.env, to.env);
  append(from.device_nodes, to.device_nodes);
  append(from.mounts, to.mounts);
  append(from.hooks, to.hooks);
  append(from.additional_gids, to.additional_gids);
  to.intel_rdt = from.intel_rdt.empty() ? to.intel_rdt : from.intel_rdt;
  to.net_devices = from.net_devices.empty() ? to.net_devices : from.net_devices;
}

std::optional<CdiName> ParseCdiName(std::string_view text) {
  const size_t slash = text.find('/');
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || slash > equals) {
    return std::nullopt;
  }
  const std::string_view vendor = text.substr(0, slash);
  const std::string_view name = text.substr(slash + 1, equals - slash - 1);
  const std::string_view device = text.substr(equals + 1);
  const bool named = IsWord(vendor, "_-.") && !IsDigit(vendor.front()) && IsWord(name, "_-.") &&
                     !IsDigit(name.front()) && IsWord(device, "_-.:");
  return named ? std::optional(CdiName{std::string(text.substr(0, equals)), std::string(device)})
               : std::nullopt;
}

std::string CdiFileStem(std::string_view kind) {
  std::string stem(kind);
  std::ranges::replace(stem, '/', '-');
  return stem;
}

}  // namespace gantry::container
