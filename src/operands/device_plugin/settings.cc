// SPDX-License-Identifier: Apache-2.0
// Which settings are in force, given the command line, the configuration file and what the node
// has? An empty variable counts as unset: the operator's DaemonSets hold some of them empty. What
// the node has stands above the file, because NVIDIA's start script makes variables of it.
//
// What can't be had is an error rather than a warning, because serving on would give a pod
// something else than it was promised.
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

// The first that says something.
std::string FirstOf(std::initializer_list<std::optional<std::string>> choices) {
  for (const auto& choice : choices) {
    if (choice && !choice->empty()) {
      return *choice;
    }
  }
  return "";
}

Result<std::set<ListStrategy>> ListStrategies(const Arguments& arguments,
                                              const policy::PluginFlags& flags) {
  const auto words = arguments.device_list_strategy && !arguments.device_list_strategy->empty()
                         ? *arguments.device_list_strategy
                         : flags.device_list_strategy.value_or(std::vector<std::string>{"envvar"});
  std::set<ListStrategy> strategies;
  for (const auto& word : words) {
    TRY_ASSIGN(const auto strategy, Choose("device-list-strategy", word, kListStrategies));
    strategies.insert(strategy);
  }
  return strategies;
}

Result<policy::MigStrategy> MigStrategy(const Arguments& arguments,
                                        const policy::PluginFlags& flags) {
  const auto text = arguments.mig_strategy.value_or("");
  if (text.empty()) {
    return flags.mig_strategy.value_or(policy::MigStrategy::kNone);
  }
  auto strategy = policy::ParseMigStrategy(text);
  if (!strategy) {
    return Fail(ErrorKind::kInvalid, "mig-strategy: " + strategy.error().message);
  }
  return strategy;
}

// Whether only Tegra systems are meant.
Result<bool> TegraOnly(const Arguments& arguments, const policy::PluginFlags& flags) {
  auto discovery = flags.device_discovery.value_or(policy::DeviceDiscovery::kAuto);
  const auto text = arguments.device_discovery_strategy.value_or("");
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

Status ReadImex(const Arguments& arguments, const policy::PluginConfig& config,
                Settings& settings) {
  settings.imex_channels = arguments.imex_channel_ids.value_or(config.imex_channel_ids);
  settings.imex_required = arguments.imex_required.value_or(config.imex_required);
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

std::set<std::string> Modes(const Arguments& arguments, const policy::PluginFlags& flags,
                            const std::set<std::string>& found) {
  std::set<std::string> modes;
  for (const auto& [mode, given, in_file] :
       {std::tuple{"gdrcopy", arguments.gdrcopy_enabled, flags.gdrcopy_enabled},
        {"gds", arguments.gds_enabled, flags.gds_enabled},
        {"mofed", arguments.mofed_enabled, flags.mofed_enabled}}) {
    if (given.value_or(found.contains(mode) || in_file.value_or(false))) {
      modes.insert(mode);
    }
  }
  return modes;
}

DriverRoots Roots(const Arguments& arguments, const policy::PluginFlags& flags,
                  const DriverRoots& found) {
  DriverRoots roots;
  roots.root = FirstOf({arguments.driver_root, found.root, flags.driver_root, "/"});
  roots.root_here = FirstOf({arguments.driver_root_ctr_path, found.root_here,
                             flags.container_driver_root, "/driver-root"});
  // A driver root that was chosen by hand takes its devices with it.
  const bool chosen = Given(arguments.driver_root);
  roots.dev_root =
      FirstOf({arguments.dev_root, chosen ? std::nullopt : std::optional(found.dev_root),
               flags.dev_root, roots.root});
  const bool dev_chosen =
      chosen || Given(arguments.dev_root) || Given(arguments.driver_root_ctr_path);
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

Result<Settings> Decide(const Arguments& arguments, const policy::PluginConfig& config,
                        const Found& found) {
  const auto& flags = config.flags;
  Settings settings;
  settings.fail_on_init_error =
      arguments.fail_on_init_error.value_or(flags.fail_on_init_error.value_or(true));
  settings.pass_device_specs =
      arguments.pass_device_specs.value_or(flags.pass_device_specs.value_or(false));
  settings.driver = Roots(arguments, flags, found.driver);
  TRY_ASSIGN(settings.list_strategies, ListStrategies(arguments, flags));
  TRY_ASSIGN(settings.mig_strategy, MigStrategy(arguments, flags));
  TRY_ASSIGN(settings.id_strategy,
             Choose("device-id-strategy",
                    FirstOf({arguments.device_id_strategy, flags.device_id_strategy, "uuid"}),
                    kIdStrategies));
  TRY_ASSIGN(settings.shared_policy,
             Choose("shared-devices-allocation-policy",
                    FirstOf({arguments.shared_devices_allocation_policy,
                             flags.shared_devices_allocation_policy, "distributed"}),
                    kSharedPolicies));
  TRY_ASSIGN(settings.tegra_only, TegraOnly(arguments, flags));
  TRY(ReadImex(arguments, config, settings));
  settings.cdi_annotation_prefix =
      FirstOf({arguments.cdi_annotation_prefix, flags.cdi_annotation_prefix, "cdi.k8s.io/"});
  settings.cdi_hook_path =
      FirstOf({arguments.cdi_hook_path, flags.ctk_path, "/usr/bin/nvidia-ctk"});
  settings.modes = Modes(arguments, flags, found.modes);
  settings.mps_root = FirstOf({arguments.mps_root, flags.mps_root});
  settings.sharing = config.sharing;
  settings.xids = config.xids;
  settings.disabled_hooks = arguments.cdi_disable_hooks;
  settings.cdi_features = arguments.cdi_feature_flags;
  TRY(gpu::CheckSharing(settings.sharing, settings.mig_strategy));
  TRY(CheckMps(settings));
  return settings;
}

}  // namespace gantry::device_plugin
