// SPDX-License-Identifier: Apache-2.0

// What does a NVIDIADriver request? It has the fields of a ClusterPolicy's driver, some under other
// names and with other defaults, so the same types hold it and the same code makes its objects.
// Mistakes that NVIDIA's operator finds only when it makes the objects are reported here by field.

#include "policy/nvidia_driver.h"

#include <array>
#include <optional>

#include "base/text.h"
#include "policy/names.h"
#include "policy/operand_section.h"
#include "policy/spec_section.h"

namespace gantry::policy {
namespace {

// The maximum length of a label's value.
constexpr size_t kLongestName = 63;

bool IsOperatorsLabel(std::string_view key) {
  return key == "app" || key.starts_with("app.kubernetes.io/");
}

void ReadPods(const SpecSection& spec, NvidiaDriver& out) {
  spec.TextMap("labels", out.pod_labels);
  std::erase_if(out.pod_labels, [](const auto& label) { return IsOperatorsLabel(label.first); });
  spec.TextMap("annotations", out.pod_annotations);
  out.tolerations = Json::array(
      {{{"key", names::kGpuResource}, {"operator", "Exists"}, {"effect", "NoSchedule"}}});
  Json more = Json::array();
  spec.Array("tolerations", more);
  for (const Json& toleration : more) {
    if (toleration != out.tolerations.front()) {
      out.tolerations.push_back(toleration);
    }
  }
  spec.Text("priorityClassName", out.priority_class);
  spec.Object("podSecurityContext", out.pod_security_context);
}

UpgradePolicy ReadUpgrade(const SpecSection& spec) {
  return ReadUpgradePolicy(spec.In("upgradePolicy"), {.automatic = true});
}

void ReadOptions(const SpecSection& spec, DriverOptions& out) {
  ReadDriverManager(spec.In("manager"), out.manager);
  out.kernel_module_type = "auto";
  spec.OneOf("kernelModuleType", {"auto", "open", "proprietary"}, out.kernel_module_type);
  spec.Bool("usePrecompiled", out.precompiled);
  spec.In("rdma").Bool("enabled", out.rdma);
  spec.In("rdma").Bool("useHostMofed", out.host_mofed);
  out.startup.initial_delay = out.precompiled ? 5 : 60;
  ReadProbe(spec.In("startupProbe"), out.startup);
  const SpecSection licensing = spec.In("licensingConfig");
  licensing.Text("secretName", out.licensing_secret);
  licensing.Text("name", out.licensing_config);
  out.nls = true;
  licensing.Bool("nlsEnabled", out.nls);
  spec.In("virtualTopologyConfig").Text("name", out.topology_config);
  spec.In("kernelModuleConfig").Text("name", out.kernel_module_config);
  spec.In("repoConfig").Text("name", out.repo_config);
  spec.In("certConfig").Text("name", out.cert_config);
  spec.Text("secretEnv", out.secret_env);
  out.upgrade = ReadUpgrade(spec);
}

// "v2.17.5" -> its numbers; nothing if it is not a version.
std::optional<std::array<long long, 3>> VersionOf(std::string_view text) {
  text.remove_prefix(text.starts_with('v') ? 1 : 0);
  const std::vector<std::string> parts = Split(text.substr(0, text.find_first_of("-+")), '.');
  std::array<long long, 3> version{};
  if (parts.size() != version.size()) {
    return std::nullopt;
  }
  for (size_t i = 0; i < version.size(); ++i) {
    const Result<long long> number = ParseInt(parts[i]);
    if (!number.has_value()) {
      return std::nullopt;
    }
    version.at(i) = *number;
  }
  return version;
}

// From this version on GDS supports the open kernel modules only; a digest may be any version.
bool NeedsOpenModules(const ImageSpec& gds) {
  constexpr std::array kSince = {2LL, 17LL, 5LL};
  const auto version = VersionOf(gds.version);
  return gds.version.starts_with("sha256:") || (version.has_value() && *version >= kSince);
}

// An image without a tag gives no driver: the system's name is appended to the tag.
bool NamesVersion(const ImageSpec& image) {
  return !image.version.empty() || image.image.find('@') != std::string::npos ||
         image.image.find(':', image.image.rfind('/') + 1) != std::string::npos;
}

void CheckTogether(const SpecSection& spec, const NvidiaDriver& driver) {
  if (!NamesVersion(driver.driver.image)) {
    spec.Wrong("version", "must be set, with repository and image");
  }
  const bool digest = driver.driver.image.version.starts_with("sha256:");
  if (driver.options.precompiled && digest) {
    spec.Wrong("version", "a digest can't name a precompiled driver for each kernel");
  }
  for (const auto& [section, module] :
       {std::pair("gds", &driver.gds), std::pair("gdrcopy", &driver.gdrcopy)}) {
    if (driver.options.precompiled && module->enabled) {
      spec.In(section).Wrong("enabled", "not with usePrecompiled");
    }
  }
  if (driver.gds.enabled && driver.options.kernel_module_type != "open" &&
      NeedsOpenModules(driver.gds.image)) {
    spec.In("gds").Wrong("version",
                         format("{} needs kernelModuleType open", driver.gds.image.version));
  }
}

}  // namespace

bool CanOwnNodes(std::string_view name) { return name.size() <= kLongestName; }

Result<DriverSelection> ParseSelection(const Json& object) {
  std::optional<Error> mistake;
  const SpecSection spec(At(object, "spec"), "spec", &mistake);
  DriverSelection selection;
  spec.Bool("default", selection.is_default);
  spec.TextMap("nodeSelector", selection.nodes);
  if (selection.is_default && !selection.nodes.empty()) {
    spec.Wrong("nodeSelector", "default NVIDIADriver must not use nodeSelector");
  }
  if (selection.nodes.contains(names::kDriverOwner)) {
    spec.Wrong("nodeSelector", format("{} is the operator's own label", names::kDriverOwner));
  }
  if (mistake.has_value()) {
    return std::unexpected(*std::move(mistake));
  }
  return selection;
}

Result<UpgradePolicy> ParseDriverUpgrade(const Json& object) {
  std::optional<Error> mistake;
  const SpecSection spec(At(object, "spec"), "spec", &mistake);
  UpgradePolicy upgrade = ReadUpgrade(spec);
  if (upgrade.automatic && mistake.has_value()) {
    return std::unexpected(*std::move(mistake));
  }
  return upgrade;
}

Result<NvidiaDriver> ParseNvidiaDriver(const Json& object) {
  std::optional<Error> mistake;
  const SpecSection spec(At(object, "spec"), "spec", &mistake);
  NvidiaDriver driver;
  spec.OneOf("driverType", {"gpu", "vgpu", "vgpu-host-manager"}, driver.type);
  driver.driver.image.image = "nvcr.io/nvidia/driver";
  ReadOperand(spec, driver.driver);
  ReadOperand(spec.In("gds"), driver.gds);
  ReadOperand(spec.In("gdrcopy"), driver.gdrcopy);
  ReadPods(spec, driver);
  ReadOptions(spec, driver.options);
  CheckTogether(spec, driver);
  if (!CanOwnNodes(TextAt(object, "metadata.name"))) {
    mistake = Error{ErrorKind::kInvalid,
                    format("metadata.name: must have at most {} characters, it is the value of a "
                           "node's label",
                           kLongestName)};
  }
  if (mistake.has_value()) {
    return std::unexpected(*std::move(mistake));
  }
  return driver;
}

std::vector<std::string> UnsupportedDriverFields(const Json& object) {
  std::vector<std::string> fields;
  for (const char* field : {"livenessProbe", "nodeAffinity", "readinessProbe"}) {
    if (const Json* found = At(object, {"spec", field}); found != nullptr && !found->empty()) {
      fields.emplace_back(field);
    }
  }
  return fields;
}

}  // namespace gantry::policy
