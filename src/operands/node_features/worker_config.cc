// SPDX-License-Identifier: Apache-2.0
// How does the configuration say what the worker publishes? In NFD's own schema: `core` for all
// sources, `sources.<name>` for one.
#include "operands/node_features/worker_config.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "base/json_shape.h"
#include "base/text.h"
#include "nfd/label_policy.h"
#include "operands/node_features/custom_rules.h"
#include "policy/plugin_config.h"
#include "policy/yaml.h"

namespace gantry::node_features {
namespace {

constexpr KnownKey kCore[] = {{"klog"},
                              {"labelWhiteList", Shape::kText},
                              {"noPublish", Shape::kFlag},
                              {"noOwnerRefs", Shape::kFlag},
                              {"ownerRefs"},
                              {"featureSources"},
                              {"sources"},
                              {"labelSources"},
                              {"noPublishFeatures"},
                              {"sleepInterval"}};
constexpr KnownKey kCpuid[] = {{"attributeBlacklist"}, {"attributeWhitelist"}};
constexpr KnownKey kCpu[] = {{"cpuid", Shape::kMap, kCpuid}};
constexpr KnownKey kFakeKeys[] = {
    {"labels"}, {"flagFeatures"}, {"attributeFeatures"}, {"instanceFeatures"}};
constexpr KnownKey kKernel[] = {{"kconfigFile", Shape::kText}, {"configOpts"}};
constexpr KnownKey kDevices[] = {{"deviceClassWhitelist"}, {"deviceLabelFields"}};
constexpr KnownKey kSources[] = {{"cpu", Shape::kMap, kCpu},       {"custom"},
                                 {"fake", Shape::kMap, kFakeKeys}, {"kernel", Shape::kMap, kKernel},
                                 {"pci", Shape::kMap, kDevices},   {"usb", Shape::kMap, kDevices}};
constexpr KnownKey kKeys[] = {{"core", Shape::kMap, kCore}, {"sources", Shape::kMap, kSources}};

Status ReadList(const Json& json, std::string_view path, std::vector<std::string>& into) {
  const Json* list = At(json, path);
  if (list == nullptr || list->is_null()) {
    return {};
  }
  if (!list->is_array()) {
    return Fail(ErrorKind::kInvalid, format("{}: must be a list", path));
  }
  into.clear();
  for (const Json& entry : *list) {
    into.push_back(entry.is_string() ? entry.get<std::string>() : entry.dump());
  }
  return {};
}

// Rules of sources.custom; NFD before 0.17 had them directly, with `matchOn`, which no longer
// exists.
Status ReadRules(const Json& json, WorkerConfig& config) {
  const Json* rules = At(json, "sources.custom");
  if (rules == nullptr) {
    return {};
  }
  auto parsed = ParseCustomRules(*rules);
  if (!parsed.has_value()) {
    return std::unexpected(parsed.error().In("sources.custom"));
  }
  config.labels.rules = std::move(parsed->rules);
  for (const std::string& warning : parsed->warnings) {
    config.warnings.push_back(format("sources.custom: {}", warning));
  }
  return {};
}

// Valid names of a list; other entries have no effect.
void WarnOfUnknown(const std::vector<std::string>& list, std::string_view path,
                   std::initializer_list<std::string_view> known,
                   std::vector<std::string>& warnings) {
  for (const std::string& name : list) {
    const std::string_view bare = std::string_view(name).substr(name.starts_with('-') ? 1 : 0);
    if (std::ranges::find(known, bare) == known.end()) {
      warnings.push_back(format("{}: \"{}\" is unknown, has no effect", path, name));
    }
  }
}

void WarnOfUnknown(WorkerConfig& config) {
  const LabelOptions& labels = config.labels;
  for (const auto& [list, path] : {std::pair(&labels.label_sources, "core.labelSources"),
                                   std::pair(&labels.feature_sources, "core.featureSources")}) {
    WarnOfUnknown(*list, path,
                  {"all", "cpu", "custom", "fake", "kernel", "local", "memory", "network", "pci",
                   "storage", "system", "usb"},
                  config.warnings);
  }
  WarnOfUnknown(labels.pci_fields, "sources.pci.deviceLabelFields",
                {"class", "vendor", "device", "subsystem_vendor", "subsystem_device"},
                config.warnings);
  WarnOfUnknown(labels.usb_fields, "sources.usb.deviceLabelFields",
                {"class", "vendor", "device", "serial"}, config.warnings);
}

// As Go's decoder with a map of defaults: given keys override them.
Status ReadMap(const Json* map, std::string_view path, Elements& into) {
  if (map == nullptr || map->is_null()) {
    return {};
  }
  if (!map->is_object()) {
    return Fail(ErrorKind::kInvalid, format("{}: must be a map", path));
  }
  for (const auto& [key, value] : map->items()) {
    into[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return {};
}

Status ReadFake(const Json& json, FakeSource& fake) {
  constexpr std::string_view kLabels = "sources.fake.labels";
  constexpr std::string_view kAttributes = "sources.fake.attributeFeatures";
  constexpr std::string_view kInstances = "sources.fake.instanceFeatures";
  TRY(ReadMap(At(json, kLabels), kLabels, fake.labels));
  TRY(ReadList(json, "sources.fake.flagFeatures", fake.flags));
  TRY(ReadMap(At(json, kAttributes), kAttributes, fake.attributes));
  const Json* instances = At(json, kInstances);
  if (instances == nullptr || instances->is_null()) {
    return {};
  }
  if (!instances->is_array()) {
    return Fail(ErrorKind::kInvalid, format("{}: must be a list", kInstances));
  }
  fake.instances.clear();
  for (const Json& instance : *instances) {
    TRY(ReadMap(&instance, kInstances, fake.instances.emplace_back()));
  }
  return {};
}

Status ReadSleepInterval(const Json& json, WorkerConfig& config) {
  const Json* interval = At(json, "core.sleepInterval");
  if (interval == nullptr || interval->is_null()) {
    return {};
  }
  auto parsed =
      ParseSleepInterval(interval->is_string() ? interval->get<std::string>() : interval->dump());
  if (!parsed.has_value()) {
    return std::unexpected(parsed.error().In("core.sleepInterval"));
  }
  config.sleep_interval = *parsed;
  return {};
}

}  // namespace

Result<std::optional<std::chrono::nanoseconds>> ParseSleepInterval(std::string_view text) {
  TRY_ASSIGN(const auto interval, policy::ParseDuration(text));
  if (interval.count() <= 0 || interval == std::chrono::nanoseconds::max()) {
    return std::nullopt;
  }
  return std::max<std::chrono::nanoseconds>(interval, std::chrono::seconds(1));
}

Status Overlay(std::string_view text, WorkerConfig& config) {
  TRY_ASSIGN(Json json, policy::ParseYaml(text));
  if (json.is_null()) {
    return {};
  }
  TRY_ASSIGN(const std::vector<std::string> unknown, Conform(json, kKeys));
  std::ranges::move(WithoutEffect(unknown), std::back_inserter(config.warnings));
  LabelOptions& labels = config.labels;
  config.no_publish = BoolAt(json, "core.noPublish", config.no_publish);
  config.kernel_config = TextAt(json, "sources.kernel.kconfigFile", config.kernel_config);
  if (const std::string pattern = TextAt(json, "core.labelWhiteList"); !pattern.empty()) {
    TRY_ASSIGN(labels.white_list, nfd::ParseWhiteList(pattern));
  }
  TRY(ReadSleepInterval(json, config));
  TRY(ReadFake(json, labels.fake));
  TRY(ReadList(json, "core.sources", labels.label_sources));
  TRY(ReadList(json, "core.labelSources", labels.label_sources));
  TRY(ReadList(json, "core.featureSources", labels.feature_sources));
  TRY(ReadList(json, "core.noPublishFeatures", labels.unpublished));
  TRY(ReadList(json, "sources.pci.deviceClassWhitelist", labels.pci_classes));
  TRY(ReadList(json, "sources.pci.deviceLabelFields", labels.pci_fields));
  TRY(ReadList(json, "sources.usb.deviceClassWhitelist", labels.usb_classes));
  TRY(ReadList(json, "sources.usb.deviceLabelFields", labels.usb_fields));
  TRY(ReadList(json, "sources.kernel.configOpts", labels.kernel_options));
  TRY(ReadList(json, "sources.cpu.cpuid.attributeBlacklist", labels.cpuid_deny));
  TRY(ReadList(json, "sources.cpu.cpuid.attributeWhitelist", labels.cpuid_allow));
  WarnOfUnknown(config);
  return ReadRules(json, config);
}

}  // namespace gantry::node_features
