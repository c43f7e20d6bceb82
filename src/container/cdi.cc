// SPDX-License-Identifier: Apache-2.0
// CDI documents as values: writing ours, reading any. Written as version 0.5.0, the oldest that has
// `hostPath`, because containerd 1.7 refuses a whole file whose version it does not know.
#include "container/cdi.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::container {
namespace {

constexpr char kVersion[] = "0.5.0";

Json EditsJson(const CdiEdits& edits) {
  Json json = Json::object();
  if (!edits.env.empty()) {
    json["env"] = edits.env;
  }
  for (const CdiDeviceNode& node : edits.device_nodes) {
    Json entry = {{"path", node.path}};
    if (!node.host_path.empty()) {
      entry["hostPath"] = node.host_path;
    }
    json["deviceNodes"].push_back(std::move(entry));
  }
  for (const CdiMount& mount : edits.mounts) {
    json["mounts"].push_back({{"hostPath", mount.host_path},
                              {"containerPath", mount.container_path},
                              {"options", mount.options}});
  }
  for (const CdiHook& hook : edits.hooks) {
    Json entry = {{"hookName", hook.name}, {"path", hook.path}, {"args", hook.args}};
    if (!hook.env.empty()) {
      entry["env"] = hook.env;
    }
    json["hooks"].push_back(std::move(entry));
  }
  return json;
}

// Walks a document and remembers the first thing that is wrong with it.
class Reader {
 public:
  Result<CdiSpec> Read(const Json& json) {
    CdiSpec spec;
    Known(json, "", {"cdiVersion", "kind", "annotations", "devices", "containerEdits"});
    spec.kind = Text(json, "kind", "kind");
    if (!ParseCdiName(spec.kind + "=x")) {
      Wrong(ErrorKind::kInvalid, "kind", "is not <vendor>/<class>");
    }
    if (const Json* edits = Child(json, "containerEdits")) {
      spec.edits = Edits(*edits, "containerEdits");
    }
    for (const Json& entry : Array(json, "devices", "devices")) {
      Known(entry, "devices", {"name", "annotations", "containerEdits"});
      CdiDevice device;
      device.name = Text(entry, "name", "devices.name");
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
    Known(json, where, {"env", "deviceNodes", "mounts", "hooks"});
    edits.env = Texts(json, "env", where);
    for (const Json& entry : Array(json, "deviceNodes", where)) {
      Known(
          entry, where,
          {"path", "hostPath", "type", "major", "minor", "fileMode", "permissions", "uid", "gid"});
      edits.device_nodes.push_back({Text(entry, "path", where), TextAt(entry, "hostPath")});
    }
    for (const Json& entry : Array(json, "mounts", where)) {
      Known(entry, where, {"hostPath", "containerPath", "options", "type"});
      edits.mounts.push_back({Text(entry, "hostPath", where), Text(entry, "containerPath", where),
                              Texts(entry, "options", where)});
    }
    for (const Json& entry : Array(json, "hooks", where)) {
      Known(entry, where, {"hookName", "path", "args", "env", "timeout"});
      edits.hooks.push_back({Text(entry, "hookName", where), Text(entry, "path", where),
                             Texts(entry, "args", where), Texts(entry, "env", where)});
    }
    return edits;
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
  Json json = {{"cdiVersion", kVersion}, {"kind", spec.kind}, {"devices", Json::array()}};
  for (const CdiDevice& device : spec.devices) {
    json["devices"].push_back({{"name", device.name}, {"containerEdits", EditsJson(device.edits)}});
  }
  json["containerEdits"] = EditsJson(spec.edits);
  return json;
}

std::string CdiText(const CdiSpec& spec) { return CdiJson(spec).dump(2) + "\n"; }

Result<CdiSpec> ParseCdi(std::string_view text) {
  TRY_ASSIGN(const Json json, ParseJson(text));
  return Reader().Read(json);
}

std::optional<CdiName> ParseCdiName(std::string_view text) {
  const size_t slash = text.find('/');
  const size_t equals = text.find('=');
  if (slash == std::string_view::npos || equals == std::string_view::npos || slash == 0 ||
      equals < slash + 2 || equals + 1 == text.size()) {
    return std::nullopt;
  }
  const std::string_view device = text.substr(equals + 1);
  if (device.find_first_of("/= \t") != std::string_view::npos) {
    return std::nullopt;
  }
  return CdiName{std::string(text.substr(0, equals)), std::string(device)};
}

std::string CdiFileStem(std::string_view kind) {
  std::string stem(kind);
  std::ranges::replace(stem, '/', '-');
  return stem;
}

}  // namespace gantry::container
