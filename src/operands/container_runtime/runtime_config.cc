// SPDX-License-Identifier: Apache-2.0
// What does config.toml say, and how is a key of it set? Read for the runtime's settings; written
// key by key, so that an administrator's comments and order stay.
#include "operands/container_runtime/runtime_config.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "container/toml_text.h"

namespace gantry::container_runtime {
namespace {

using container::EndOfLine;
using container::HeaderOf;
using container::OffsetOf;
using container::TableAt;

enum class Type { kSwitch, kText, kList };
struct Key {
  std::string_view table;  // "" for the root
  std::string_view name;
  Type type;
  std::string_view initial;  // as TOML spells it
};

// In the order of the file.
constexpr std::array kKeys = {
    Key{"", "accept-nvidia-visible-devices-as-volume-mounts", Type::kSwitch, "false"},
    Key{"", "accept-nvidia-visible-devices-envvar-when-unprivileged", Type::kSwitch, "false"},
    Key{"", "disable-require", Type::kSwitch, "false"},
    Key{"", "supported-driver-capabilities", Type::kText,
        R"("compat32,compute,display,graphics,ngx,utility,video")"},
    Key{"", "swarm-resource", Type::kText, R"("")"},
    Key{"features", "allow-cuda-compat-libs-from-container", Type::kSwitch, "false"},
    Key{"features", "allow-ldconfig-from-container", Type::kSwitch, "false"},
    Key{"features", "allow-unknown-oci-spec-fields", Type::kSwitch, "false"},
    Key{"features", "disable-cuda-compat-lib-hook", Type::kSwitch, "false"},
    Key{"features", "disable-imex-channel-creation", Type::kSwitch, "false"},
    Key{"features", "ignore-imex-channel-requests", Type::kSwitch, "false"},
    Key{"features", "no-additional-gids-for-device-nodes", Type::kSwitch, "false"},
    Key{"nvidia-container-cli", "debug", Type::kText, R"("")"},
    Key{"nvidia-container-cli", "environment", Type::kList, "[]"},
    Key{"nvidia-container-cli", "ldcache", Type::kText, R"("")"},
    Key{"nvidia-container-cli", "ldconfig", Type::kText, R"("@/sbin/ldconfig")"},
    Key{"nvidia-container-cli", "load-kmods", Type::kSwitch, "true"},
    Key{"nvidia-container-cli", "no-cgroups", Type::kSwitch, "false"},
    Key{"nvidia-container-cli", "no-pivot", Type::kSwitch, "false"},
    Key{"nvidia-container-cli", "path", Type::kText, R"("")"},
    Key{"nvidia-container-cli", "root", Type::kText, R"("")"},
    Key{"nvidia-container-cli", "user", Type::kText, R"("")"},
    Key{"nvidia-container-runtime", "debug", Type::kText, R"("/dev/null")"},
    Key{"nvidia-container-runtime", "log-level", Type::kText, R"("info")"},
    Key{"nvidia-container-runtime", "mode", Type::kText, R"("auto")"},
    Key{"nvidia-container-runtime", "runtimes", Type::kList, R"(["runc", "crun"])"},
    Key{"nvidia-container-runtime.modes.cdi", "annotation-prefixes", Type::kList,
        R"(["cdi.k8s.io/"])"},
    Key{"nvidia-container-runtime.modes.cdi", "default-kind", Type::kText, R"("nvidia.com/gpu")"},
    Key{"nvidia-container-runtime.modes.cdi", "spec-dirs", Type::kList,
        R"(["/etc/cdi", "/var/run/cdi"])"},
    Key{"nvidia-container-runtime.modes.csv", "compat-container-root", Type::kText, R"("")"},
    Key{"nvidia-container-runtime.modes.csv", "mount-spec-path", Type::kText,
        R"("/etc/nvidia-container-runtime/host-files-for-container.d")"},
    Key{"nvidia-container-runtime.modes.jit-cdi", "nvcdi-disable-hooks", Type::kList, "[]"},
    Key{"nvidia-container-runtime.modes.jit-cdi", "nvcdi-feature-flags", Type::kList, "[]"},
    Key{"nvidia-container-runtime.modes.legacy", "cuda-compat-mode", Type::kText, R"("ldconfig")"},
    Key{"nvidia-container-runtime-hook", "path", Type::kText, R"("nvidia-container-runtime-hook")"},
    Key{"nvidia-container-runtime-hook", "skip-mode-detection", Type::kSwitch, "false"},
    Key{"nvidia-ctk", "path", Type::kText, R"("nvidia-ctk")"},
};

std::string FullName(const Key& key) {
  return key.table.empty() ? std::string(key.name) : format("{}.{}", key.table, key.name);
}

// Reads keys and keeps the first whose value has a wrong type.
class Reader {
 public:
  explicit Reader(const toml::table& root) : root_(root) {}

  void Take(std::string_view key, bool& into) { TakeValue(key, into, "true or false"); }
  void Take(std::string_view key, std::string& into) { TakeValue(key, into, "a text"); }
  void Take(std::string_view key, std::vector<std::string>& into) {
    const auto node = root_.at_path(key);
    if (!node) {
      return;
    }
    const toml::array* list = node.as_array();
    std::vector<std::string> texts;
    for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
      if (const auto text = list->get(i)->value<std::string>()) {
        texts.push_back(*text);
      }
    }
    if (list == nullptr || texts.size() != list->size()) {
      Wrong(key, "a list of texts");
      return;
    }
    into = std::move(texts);
  }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  template <typename T>
  void TakeValue(std::string_view key, T& into, std::string_view what) {
    const auto node = root_.at_path(key);
    if (!node) {
      return;
    }
    if (auto value = node.value_exact<T>()) {
      into = *std::move(value);
    } else {
      Wrong(key, what);
    }
  }
  void Wrong(std::string_view key, std::string_view what) {
    if (wrong_.empty()) {
      wrong_ = format("read config.toml: {} is not {}", key, what);
    }
  }

  const toml::table& root_;
  std::string wrong_;
};

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
    }
    quoted += c;
  }
  return quoted + "\"";
}

Result<std::string> Spelled(const Key& key, std::optional<std::string_view> given,
                            std::string_view separator) {
  if (key.type == Type::kSwitch) {
    TRY_ASSIGN(const bool on, ParseBool(given.value_or("true")));
    return on ? "true" : "false";
  }
  if (!given) {
    return Fail(ErrorKind::kInvalid, format("set {}: =<value> is missing", FullName(key)));
  }
  const std::string_view value = *given;
  if (value.find('\n') != std::string_view::npos) {
    return Fail(ErrorKind::kInvalid, format("set {}: a value has one line", FullName(key)));
  }
  if (key.type == Type::kText) {
    return Quoted(value);
  }
  std::vector<std::string> quoted;
  for (const std::string& part : Split(value, separator.empty() ? ':' : separator.front())) {
    quoted.push_back(Quoted(part));
  }
  return "[" + Join(quoted, ", ") + "]";
}

// The possible lines that set a key, the most usual first: which of them are valid TOML depends on
// how the key's table is written.
std::vector<std::string> WithKey(const std::string& text, const toml::table& root, const Key& key,
                                 const std::string& spelled) {
  const std::string line = format("{} = {}\n", key.name, spelled);
  if (const auto present = root.at_path(FullName(key))) {
    const toml::source_region& value = present.node()->source();
    return {text.substr(0, OffsetOf(text, value.begin)) + spelled +
            text.substr(OffsetOf(text, value.end))};
  }
  if (key.table.empty()) {
    return {line + text};
  }
  const std::vector<std::string> names = Split(key.table, '.');
  const std::vector<std::string_view> path(names.begin(), names.end());
  std::string edited = text;
  if (const size_t header = HeaderOf(text, root, path); header != std::string::npos) {
    const size_t end = EndOfLine(text, header);
    return {edited.insert(end, (text[end - 1] == '\n' ? "" : "\n") + line)};
  }
  const toml::table* table = TableAt(root, path);
  if (table != nullptr && table->is_inline()) {
    return {edited.insert(OffsetOf(text, table->source().begin) + 1,
                          format("{} = {}{}", key.name, spelled, table->empty() ? "" : ", "))};
  }
  const bool complete = text.empty() || text.ends_with('\n');
  return {format("{}{}\n[{}]\n{}", text, complete ? "" : "\n", key.table, line),
          format("{}.{}{}", key.table, line, text)};
}

}  // namespace

Result<RuntimeConfig> ParseRuntimeConfig(std::string_view text) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return Fail(ErrorKind::kInvalid,
                format("read config.toml line {}: {}", parsed.error().source().begin.line,
                       parsed.error().description()));
  }
  Reader reader(parsed.table());
  RuntimeConfig config;
  std::string swarm;
  reader.Take("disable-require", config.disable_require);
  reader.Take("swarm-resource", swarm);
  reader.Take("accept-nvidia-visible-devices-envvar-when-unprivileged", config.accept_environment);
  reader.Take("accept-nvidia-visible-devices-as-volume-mounts", config.accept_mounts);
  reader.Take("supported-driver-capabilities", config.supported_capabilities);
  reader.Take("nvidia-container-cli.root", config.driver_root);
  reader.Take("nvidia-container-runtime.debug", config.debug);
  reader.Take("nvidia-container-runtime.log-level", config.log_level);
  reader.Take("nvidia-container-runtime.runtimes", config.runtimes);
  reader.Take("nvidia-container-runtime.mode", config.mode);
  reader.Take("nvidia-container-runtime.modes.csv.mount-spec-path", config.csv_folder);
  reader.Take("nvidia-container-runtime.modes.csv.compat-container-root", config.csv_compat_folder);
  reader.Take("nvidia-container-runtime.modes.cdi.default-kind", config.default_kind);
  reader.Take("nvidia-container-runtime.modes.cdi.spec-dirs", config.spec_dirs);
  reader.Take("nvidia-container-runtime.modes.cdi.annotation-prefixes", config.annotation_prefixes);
  reader.Take("nvidia-container-runtime.modes.jit-cdi.nvcdi-feature-flags", config.jit_features);
  reader.Take("nvidia-container-runtime.modes.jit-cdi.nvcdi-disable-hooks",
              config.jit_disabled_hooks);
  reader.Take("nvidia-container-runtime.modes.legacy.cuda-compat-mode", config.cuda_compat_mode);
  reader.Take("nvidia-container-runtime-hook.skip-mode-detection", config.skip_mode_detection);
  reader.Take("features.disable-cuda-compat-lib-hook", config.disable_cuda_compat);
  reader.Take("features.ignore-imex-channel-requests", config.ignore_imex_requests);
  reader.Take("features.no-additional-gids-for-device-nodes", config.no_additional_gids);
  if (!reader.wrong().empty()) {
    return Fail(ErrorKind::kInvalid, reader.wrong());
  }
  for (const std::string& name : Split(swarm, ',')) {
    if (!Trim(name).empty()) {
      config.swarm_resources.emplace_back(Trim(name));
    }
  }
  return config;
}

std::string DefaultConfigText() {
  std::string text;
  std::string_view table;
  for (const Key& key : kKeys) {
    if (key.table != table) {
      table = key.table;
      text += format("\n[{}]\n", table);
    }
    text += format("{} = {}\n", key.name, key.initial);
  }
  return text;
}

Result<std::string> SetConfigKey(const std::string& text, std::string_view key,
                                 std::optional<std::string_view> value,
                                 std::string_view list_separator) {
  const auto known =
      std::ranges::find_if(kKeys, [&](const Key& each) { return FullName(each) == key; });
  if (known == kKeys.end()) {
    return Fail(ErrorKind::kInvalid, format("set {}: config.toml has no such key", key));
  }
  TRY_ASSIGN(const std::string spelled, Spelled(*known, value, list_separator));
  const auto root = container::ParseToml(text);
  if (!root) {
    return std::unexpected(root.error().In("read config.toml"));
  }
  for (std::string& edited : WithKey(text, *root, *known, spelled)) {
    const auto after = container::ParseToml(edited);
    if (after && after->at_path(key) && !after->at_path(key).is_table()) {
      return std::move(edited);
    }
  }
  return Fail(ErrorKind::kUnsupported,
              format("set {}: its table is written in a way that cannot be added to", key));
}

}  // namespace gantry::container_runtime
