// SPDX-License-Identifier: Apache-2.0

// What does a ClusterPolicy ask for? Reads the object into a struct with NVIDIA's defaults: a
// section that is absent is enabled or not by its own rule, and a value of the wrong type or
// outside its enum names its field. The reader below remembers the first mistake instead of failing
// at each step, so that reading stays a list of fields.

#include "policy/cluster_policy.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "policy/names.h"
#include "policy/operands.h"

namespace gantry::policy {
namespace {

class Reader {
 public:
  Reader(const Json* value, std::string path, std::optional<Error>* mistake)
      : value_(value), path_(std::move(path)), mistake_(mistake) {
    if (value_ != nullptr && value_->is_null()) {
      value_ = nullptr;
    }
    if (value_ != nullptr && !value_->is_object()) {
      Wrong("", "must be an object");
      value_ = nullptr;
    }
  }

  [[nodiscard]] Reader In(std::string_view key) const { return {Find(key), Path(key), mistake_}; }

  void Text(std::string_view key, std::string& out) const {
    if (const Json* found = Find(key)) {
      if (!found->is_string()) {
        Wrong(key, "must be a string");
      } else if (!found->get_ref<const std::string&>().empty()) {
        out = found->get<std::string>();
      }
    }
  }

  void OneOf(std::string_view key, std::initializer_list<std::string_view> words,
             std::string& out) const {
    std::string value;
    Text(key, value);
    if (value.empty()) {
      return;
    }
    if (std::ranges::find(words, value) == words.end()) {
      std::vector<std::string> all(words.begin(), words.end());
      Wrong(key, format("\"{}\" is none of {}", value, Join(all, ", ")));
      return;
    }
    out = value;
  }

  void Bool(std::string_view key, bool& out) const {
    if (const Json* found = Find(key)) {
      if (!found->is_boolean()) {
        Wrong(key, "must be true or false");
      } else {
        out = found->get<bool>();
      }
    }
  }

  void Texts(std::string_view key, std::vector<std::string>& out) const {
    const Json* found = Find(key);
    if (found == nullptr) {
      return;
    }
    if (!found->is_array() ||
        !std::ranges::all_of(*found, [](const Json& item) { return item.is_string(); })) {
      Wrong(key, "must be a list of strings");
      return;
    }
    out = found->get<std::vector<std::string>>();
  }

  void TextMap(std::string_view key, std::map<std::string, std::string>& out) const {
    const Json* found = Find(key);
    if (found == nullptr) {
      return;
    }
    if (!found->is_object() ||
        !std::ranges::all_of(*found, [](const Json& item) { return item.is_string(); })) {
      Wrong(key, "must be a map of strings");
      return;
    }
    out = found->get<std::map<std::string, std::string>>();
  }

  void Env(EnvVars& out) const {
    const Json* found = Find("env");
    if (found == nullptr) {
      return;
    }
    if (!found->is_array()) {
      Wrong("env", "must be a list");
      return;
    }
    for (const Json& item : *found) {
      if (TextAt(item, "name").empty()) {
        Wrong("env", "an entry has no name");
        return;
      }
      out.emplace_back(TextAt(item, "name"), TextAt(item, "value"));
    }
  }

  void Object(std::string_view key, Json& out) const {
    if (const Json* found = Find(key)) {
      if (!found->is_object()) {
        Wrong(key, "must be an object");
      } else if (!found->empty()) {
        out = *found;
      }
    }
  }

  void Array(std::string_view key, Json& out) const {
    if (const Json* found = Find(key)) {
      if (!found->is_array()) {
        Wrong(key, "must be a list");
      } else if (!found->empty()) {
        out = *found;
      }
    }
  }

  void Wrong(std::string_view key, std::string_view why) const {
    if (!mistake_->has_value()) {
      *mistake_ = Error{ErrorKind::kInvalid, format("{}: {}", Path(key), why)};
    }
  }

 private:
  [[nodiscard]] const Json* Find(std::string_view key) const {
    if (value_ == nullptr) {
      return nullptr;
    }
    const auto found = value_->find(key);
    return found == value_->end() || found->is_null() ? nullptr : &*found;
  }
  [[nodiscard]] std::string Path(std::string_view key) const {
    return key.empty() ? path_ : format("{}.{}", path_, key);
  }

  const Json* value_;
  std::string path_;
  std::optional<Error>* mistake_;
};

void ReadOperand(const Reader& section, OperandSpec& out) {
  section.Text("repository", out.image.repository);
  section.Text("image", out.image.image);
  section.Text("version", out.image.version);
  section.Text("imagePullPolicy", out.image.pull_policy);
  section.Texts("imagePullSecrets", out.image.pull_secrets);
  section.Texts("args", out.args);
  section.Env(out.env);
  section.Bool("hostNetwork", out.host_network);
  section.Object("resources", out.resources);
}

void ReadDaemonSets(const Reader& section, ClusterPolicy& policy) {
  section.TextMap("labels", policy.pod_labels);
  section.TextMap("annotations", policy.pod_annotations);
  section.Array("tolerations", policy.tolerations);
  section.Text("priorityClassName", policy.priority_class);
  section.Object("podSecurityContext", policy.pod_security_context);
  std::string strategy;
  section.OneOf("updateStrategy", {"RollingUpdate", "OnDelete"}, strategy);
  policy.update_on_delete = strategy == "OnDelete";
  section.In("rollingUpdate").Text("maxUnavailable", policy.max_unavailable);
  std::string_view count = policy.max_unavailable;
  if (count.ends_with('%')) {
    count.remove_suffix(1);
  }
  if (!count.empty() && !std::ranges::all_of(count, [](char c) { return c >= '0' && c <= '9'; })) {
    section.In("rollingUpdate")
        .Wrong("maxUnavailable",
               format("\"{}\" is neither a number nor a percentage", policy.max_unavailable));
  }
}

void ReadCluster(const Reader& spec, ClusterPolicy& policy) {
  spec.In("operator").Text("runtimeClass", policy.runtime_class);
  ReadDaemonSets(spec.In("daemonsets"), policy);
  const Reader paths = spec.In("hostPaths");
  paths.Text("rootFS", policy.host_root);
  paths.Text("driverInstallDir", policy.driver_install_dir);
  paths.Text("kubeletRootDir", policy.kubelet_root);
  spec.In("cdi").Bool("enabled", policy.cdi);
  spec.In("cdi").Bool("nriPluginEnabled", policy.nri);
  spec.In("mig").OneOf("strategy", {"none", "single", "mixed"}, policy.mig_strategy);
  const Reader sandbox = spec.In("sandboxWorkloads");
  sandbox.Bool("enabled", policy.sandbox);
  sandbox.OneOf("mode", {"kubevirt", "kata"}, policy.sandbox_mode);
  sandbox.OneOf("defaultWorkload", {"container", "vm-passthrough", "vm-vgpu"},
                policy.default_workload);
}

void ReadOperands(const Reader& spec, ClusterPolicy& policy) {
  const Reader driver = spec.In("driver");
  ReadOperand(driver, policy.driver);
  driver.Bool("useNvidiaDriverCRD", policy.driver_crd);
  ReadOperand(spec.In("toolkit"), policy.toolkit);
  spec.In("toolkit").Text("installDir", policy.install_dir);
  const Reader plugin = spec.In("devicePlugin");
  ReadOperand(plugin, policy.device_plugin);
  plugin.In("config").Text("name", policy.config_name);
  plugin.In("config").Text("default", policy.config_default);
  plugin.In("mps").Text("root", policy.mps_root);
  ReadOperand(spec.In("gfd"), policy.gfd);
  ReadOperand(spec.In("nodeStatusExporter"), policy.node_status_exporter);
  const Reader validator = spec.In("validator");
  ReadOperand(validator, policy.validator);
  for (const std::string_view stage : {"driver", "toolkit", "cuda", "plugin"}) {
    validator.In(stage).Env(policy.validator_stage_env);
  }
}

// A section's own switch; these are on unless said otherwise.
bool OnByDefault(std::string_view section) {
  static constexpr std::array kOn = {"driver", "toolkit",      "devicePlugin", "gfd",
                                     "dcgm",   "dcgmExporter", "migManager"};
  return std::ranges::find(kOn, section) != kOn.end();
}

// Values at which a field that is not acted on makes no difference, besides false, "" and nothing.
bool Neutral(std::string_view path, const Json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  if (value.is_null() || value == false || (text != nullptr && text->empty()) ||
      (value.is_structured() && value.empty())) {
    return true;
  }
  return path.ends_with(".imagePullPolicy") || path == "sandboxWorkloads.defaultWorkload" ||
         path == "sandboxWorkloads.mode" || path.starts_with("operator.metrics.serviceMonitor.") ||
         path.starts_with("operator.initContainer.") || path == "operator.defaultRuntime" ||
         path.starts_with("psp.") || path == "cdi.default";
}

// What Parse reads and the operator uses, as prefixes of paths.
bool ActedOn(std::string_view path) {
  static constexpr std::array kPaths = {"operator.runtimeClass",
                                        "daemonsets.",
                                        "hostPaths.",
                                        "cdi.enabled",
                                        "mig.strategy",
                                        "toolkit.",
                                        "devicePlugin.enabled",
                                        "devicePlugin.config.",
                                        "devicePlugin.mps.",
                                        "gfd.",
                                        "nodeStatusExporter.",
                                        "validator.repository",
                                        "validator.image",
                                        "validator.version",
                                        "validator.imagePull",
                                        "validator.args",
                                        "validator.env",
                                        "validator.hostNetwork",
                                        "validator.resources",
                                        "validator.driver.",
                                        "validator.toolkit.",
                                        "validator.cuda.",
                                        "validator.plugin.",
                                        "devicePlugin.repository",
                                        "devicePlugin.image",
                                        "devicePlugin.version",
                                        "devicePlugin.args",
                                        "devicePlugin.env",
                                        "devicePlugin.hostNetwork",
                                        "devicePlugin.resources",
                                        "driver.enabled",
                                        "sandboxWorkloads.enabled"};
  return std::ranges::any_of(
      kPaths, [&](std::string_view prefix) { return path.starts_with(prefix) || path == prefix; });
}

void Collect(const std::string& path, const Json& value, std::vector<std::string>& out) {
  if (ActedOn(path) || Neutral(path, value)) {
    return;
  }
  if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      Collect(path.empty() ? key : format("{}.{}", path, key), item, out);
    }
    return;
  }
  out.push_back(path);
}

}  // namespace

Result<ClusterPolicy> Parse(const Json& object) {
  std::optional<Error> mistake;
  const Reader spec(At(object, "spec"), "spec", &mistake);
  ClusterPolicy policy;
  policy.tolerations = Json::array(
      {{{"key", names::kGpuResource}, {"operator", "Exists"}, {"effect", "NoSchedule"}}});
  ReadCluster(spec, policy);
  ReadOperands(spec, policy);
  for (const Operand& operand : Operands()) {
    if (operand.section.empty()) {
      continue;
    }
    bool on = OnByDefault(operand.section);
    spec.In(operand.section).Bool("enabled", on);
    policy.enabled.emplace(operand.section, on);
  }
  spec.In("gds").Bool("enabled", policy.gds);
  spec.In("gdrcopy").Bool("enabled", policy.gdrcopy);
  if (mistake.has_value()) {
    return std::unexpected(*std::move(mistake));
  }
  policy.driver.enabled = policy.enabled["driver"];
  policy.toolkit.enabled = policy.enabled["toolkit"];
  policy.device_plugin.enabled = policy.enabled["devicePlugin"];
  policy.gfd.enabled = policy.enabled["gfd"];
  policy.node_status_exporter.enabled = policy.enabled["nodeStatusExporter"];
  policy.validator.enabled = true;
  return policy;
}

std::vector<std::string> UnsupportedFields(const Json& object) {
  std::vector<std::string> fields;
  const Json* spec = At(object, "spec");
  const Result<ClusterPolicy> policy = Parse(object);
  if (spec == nullptr || !spec->is_object() || !policy.has_value()) {
    return fields;
  }
  for (const auto& [section, value] : spec->items()) {
    const Operand* operand = OperandOfSection(section);
    if (operand != nullptr && !operand->available) {
      if (Wanted(*operand, *policy)) {
        fields.push_back(section);
      }
      continue;
    }
    Collect(section, value, fields);
  }
  return fields;
}

}  // namespace gantry::policy
