// SPDX-License-Identifier: Apache-2.0
// Which settings apply, given the command line, the configuration file and the node? An empty
// variable counts as unset: the operator's DaemonSets set some of them empty. The node's facts
// override the file, because NVIDIA's start script makes variables of them.
//
// An impossible setting is an error, not a warning, because a pod would get something else than
// promised.
#include "operands/device_plugin/settings.h"

#include <array>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "gpu/sharing_rules.h"

namespace gantry::device_plugin {
namespace {

template <typename Value>
struct Word {
  std::string_view word;
  Value value;
};

template <typename Value, size_t n>
Result<Value> Choose(std::string_view what, std::string_view text,
                     const std::array<Word<Value>, n>& words) {
  std::vector<std::string> known;
  for (const auto& word : words) {
    if (word.word == text) {
      return word.value;
    }
    known.emplace_back(word.word);
  }
  return Fail(ErrorKind::kInvalid,
              format("{}: unknown value '{}' (one of {})", what, text, Join(known, ", ")));
}

constexpr std::array<Word<ListStrategy>, 4> kListStrategies{
    {{"envvar", ListStrategy::kEnvVar},
     {"volume-mounts", ListStrategy::kVolumeMounts},
     {"cdi-annotations", ListStrategy::kCdiAnnotations},
     {"cdi-cri", ListStrategy::kCdiCri}}};
constexpr std::array<Word<IdStrategy>, 2> kIdStrategies{
    {{"uuid", IdStrategy::kUuid}, {"index", IdStrategy::kIndex}}};
constexpr std::array<Word<SharedPolicy>, 2> kSharedPolicies{
    {{"distributed", SharedPolicy::kDistributed}, {"packed", SharedPolicy::kPacked}}};

bool Given(const std::optional<std::string>& text) { return !text.value_or("").empty(); }

// The first that is set.
std::string FirstOf(std::initializer_list<std::optional<std::string>> choices) {
  for (const auto& choice : choices) {
    if (choice && !choice->empty()) {
      return *choice;
    }
  }
  return "";
}

Result<std::set<ListStrategy>> ListStrategies(const Flags& flags, const policy::PluginFlags& file) {
  const auto words = flags.device_list_strategy && !flags.device_list_strategy->empty()
                         ? *flags.device_list_strategy
                         : file.device_list_strategy.value_or(std::vector<std::string>{"envvar"});
  std::set<ListStrategy> strategies;
  for (const auto& word : words) {
    TRY_ASSIGN(const auto strategy, Choose("device-list-strategy", word, kListStrategies));
    strategies.insert(strategy);
  }
  return strategies;
}

Result<policy::MigStrategy> MigStrategy(const Flags& flags, const policy::PluginFlags& file) {
  const auto text = flags.mig_strategy.value_or("");
  if (text.empty()) {
    return file.mig_strategy.value_or(policy::MigStrategy::kNone);
  }
  auto strategy = policy::ParseMigStrategy(text);
  if (!strategy) {
    return Fail(ErrorKind::kInvalid, "mig-strategy: " + strategy.error().message);
  }
  return strategy;
}

// Whether only Tegra systems are meant.
Result<bool> TegraOnly(const Flags& flags, const policy::PluginFlags& file) {
  auto discovery = file.device_discovery.value_or(policy::DeviceDiscovery::kAuto);
  const auto text = flags.device_discovery_strategy.value_or("");
  if (!text.empty()) {
    auto parsed = policy::ParseDeviceDiscovery(text);
    if (!parsed) {
      return Fail(ErrorKind::kInvalid, "device-discovery-strategy: " + parsed.error().message);
    }
    discovery = *parsed;
  }
  if (discovery == policy::DeviceDiscovery::kVfio) {
    return Fail(ErrorKind::kInvalid,
                "device-discovery-strategy: must be one of auto, nvml, tegra, is \"vfio\"");
  }
  return discovery == policy::DeviceDiscovery::kTegra;
}

Status ReadImex(const Flags& flags, const policy::PluginConfig& config, Settings& settings) {
  settings.imex_channels = flags.imex_channel_ids.value_or(config.imex_channel_ids);
  settings.imex_required = flags.imex_required.value_or(config.imex_required);
  if (!settings.imex_channels.empty() && settings.imex_channels != std::vector<int>{0}) {
    return Fail(ErrorKind::kInvalid, "imex-channel-ids: only none or 0 can be asked for");
  }
  return {};
}

Status CheckMps(const Settings& settings) {
  if (settings.sharing.strategy != policy::SharingStrategy::kMps) {
    return {};
  }
  if (settings.mps_root.empty()) {
    return Fail(ErrorKind::kInvalid, "mps-root: must be set for sharing.mps");
  }
  return {};
}

std::set<std::string> Modes(const Flags& flags, const policy::PluginFlags& file,
                            const std::set<std::string>& found) {
  std::set<std::string> modes;
  for (const auto& [mode, given, in_file] :
       {std::tuple{"gdrcopy", flags.gdrcopy_enabled, file.gdrcopy_enabled},
        {"gds", flags.gds_enabled, file.gds_enabled},
        {"mofed", flags.mofed_enabled, file.mofed_enabled}}) {
    if (given.value_or(found.contains(mode) || in_file.value_or(false))) {
      modes.insert(mode);
    }
  }
  return modes;
}

DriverRoots Roots(const Flags& flags, const policy::PluginFlags& file, const DriverRoots& found) {
  DriverRoots roots;
  roots.root = FirstOf({flags.driver_root, found.root, file.driver_root, "/"});
  roots.root_here = FirstOf(
      {flags.driver_root_ctr_path, found.root_here, file.container_driver_root, "/driver-root"});
  // A driver root chosen by hand includes its device nodes.
  const bool chosen = Given(flags.driver_root);
  roots.dev_root = FirstOf({flags.dev_root, chosen ? std::nullopt : std::optional(found.dev_root),
                            file.dev_root, roots.root});
  const bool dev_chosen = chosen || Given(flags.dev_root) || Given(flags.driver_root_ctr_path);
  roots.dev_root_here =
      FirstOf({dev_chosen ? std::nullopt : std::optional(found.dev_root_here), roots.root_here});
  return roots;
}

}  // namespace

DriverRoots RootsFrom(const std::map<std::string, std::string>& driver_ready) {
  const auto value = [&driver_ready](const char* name) {
    const auto found = driver_ready.find(name);
    return found == driver_ready.end() ? std::string() : found->second;
  };
  return {.root = value("NVIDIA_DRIVER_ROOT"),
          .root_here = value("DRIVER_ROOT_CTR_PATH"),
          .dev_root = value("NVIDIA_DEV_ROOT"),
          .dev_root_here = value("DEV_ROOT_CTR_PATH")};
}

std::set<std::string> ModesOf(const std::vector<host::KernelModule>& modules) {
  std::set<std::string> modes;
  for (const auto& module : modules) {
    if (module.name == "gdrdrv") {
      modes.insert("gdrcopy");
    } else if (module.name == "nvidia_fs") {
      modes.insert({"gds", "mofed"});
    }
  }
  return modes;
}

Result<Settings> Decide(const Flags& flags, const policy::PluginConfig& config,
                        const Found& found) {
  const auto& file = config.flags;
  Settings settings;
  settings.fail_on_init_error =
      flags.fail_on_init_error.value_or(file.fail_on_init_error.value_or(true));
  settings.pass_device_specs =
      flags.pass_device_specs.value_or(file.pass_device_specs.value_or(false));
  settings.driver = Roots(flags, file, found.driver);
  TRY_ASSIGN(settings.list_strategies, ListStrategies(flags, file));
  TRY_ASSIGN(settings.mig_strategy, MigStrategy(flags, file));
  TRY_ASSIGN(
      settings.id_strategy,
      Choose("device-id-strategy",
             FirstOf({flags.device_id_strategy, file.device_id_strategy, "uuid"}), kIdStrategies));
  TRY_ASSIGN(settings.shared_policy,
             Choose("shared-devices-allocation-policy",
                    FirstOf({flags.shared_devices_allocation_policy,
                             file.shared_devices_allocation_policy, "distributed"}),
                    kSharedPolicies));
  TRY_ASSIGN(settings.tegra_only, TegraOnly(flags, file));
  TRY(ReadImex(flags, config, settings));
  settings.cdi_annotation_prefix =
      FirstOf({flags.cdi_annotation_prefix, file.cdi_annotation_prefix, "cdi.k8s.io/"});
  settings.cdi_hook_path = FirstOf({flags.cdi_hook_path, file.ctk_path, "/usr/bin/nvidia-ctk"});
  settings.modes = Modes(flags, file, found.modes);
  settings.mps_root = FirstOf({flags.mps_root, file.mps_root});
  settings.sharing = config.sharing;
  settings.xids = config.xids;
  settings.disabled_hooks = flags.cdi_disable_hooks;
  settings.cdi_features = flags.cdi_feature_flags;
  TRY(gpu::CheckSharing(settings.sharing, settings.mig_strategy));
  TRY(CheckMps(settings));
  return settings;
}

}  // namespace gantry::device_plugin
