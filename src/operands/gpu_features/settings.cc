// SPDX-License-Identifier: Apache-2.0
// Which value of a setting counts? A flag or variable before the configuration file, and that
// before the default. The driver's location in `driver-ready` comes between the first two, because
// NVIDIA's start script makes variables of it.
#include "operands/gpu_features/settings.h"

#include "base/text.h"
#include "gpu/sharing_rules.h"
#include "policy/names.h"

namespace gantry::gpu_features {
namespace {

constexpr std::chrono::seconds kRecheck(60);

// The argument, else the file's value, else the default.
template <typename T>
T Pick(const std::optional<T>& argument, const std::optional<T>& file, T fallback) {
  return argument.has_value() ? *argument : file.value_or(std::move(fallback));
}

// The same for an argument that must be parsed; errors name the flag.
template <typename T>
Result<T> PickParsed(const char* flag, const std::optional<std::string>& argument,
                     Result<T> (*parse)(std::string_view), const std::optional<T>& file,
                     T fallback) {
  if (!argument.has_value()) {
    return file.value_or(fallback);
  }
  Result<T> value = parse(*argument);
  return value.has_value() ? value : std::unexpected(value.error().In(flag));
}

}  // namespace

bool IsOneshot(const Flags& flags, const policy::PluginConfig& config) {
  return Pick(flags.oneshot, config.flags.gfd.oneshot, false);
}

Result<Settings> Resolve(const Flags& flags, const policy::PluginConfig& config) {
  const policy::PluginFlags& file = config.flags;
  Settings settings;
  settings.sharing = config.sharing;
  TRY_ASSIGN(settings.mig_strategy,
             PickParsed("--mig-strategy", flags.mig_strategy, policy::ParseMigStrategy,
                        file.mig_strategy, policy::MigStrategy::kNone));
  TRY_ASSIGN(const policy::DeviceDiscovery discovery,
             PickParsed("--device-discovery-strategy", flags.device_discovery_strategy,
                        policy::ParseDeviceDiscovery, file.device_discovery,
                        policy::DeviceDiscovery::kAuto));
  if (discovery == policy::DeviceDiscovery::kTegra) {
    return Fail(ErrorKind::kUnsupported, "--device-discovery-strategy: tegra is not supported");
  }
  settings.vfio = discovery == policy::DeviceDiscovery::kVfio;
  if (!settings.vfio) {
    TRY(gpu::CheckSharing(settings.sharing, settings.mig_strategy));
  }
  settings.fail_on_init_error = Pick(flags.fail_on_init_error, file.fail_on_init_error, true);
  TRY_ASSIGN(const std::chrono::nanoseconds recheck,
             PickParsed<std::chrono::nanoseconds>("--sleep-interval", flags.sleep_interval,
                                                  policy::ParseDuration, file.gfd.sleep_interval,
                                                  kRecheck));
  if (recheck.count() > 0 && recheck != std::chrono::nanoseconds::max()) {
    settings.recheck = recheck;
  }
  settings.oneshot = IsOneshot(flags, config);
  settings.timestamp = !Pick(flags.no_timestamp, file.gfd.no_timestamp, false);
  settings.use_node_feature_api = Pick(flags.use_node_feature_api, file.use_node_feature_api, true);
  settings.output_file = Pick<std::string>(flags.output_file, file.gfd.output_file,
                                           format("{}/gfd", names::kFeaturesDir));
  settings.machine_type_file =
      Pick<std::string>(flags.machine_type_file, file.gfd.machine_type_file,
                        format("{}/class/dmi/id/product_name", flags.sys_root));
  settings.driver_root = flags.driver_root_ctr_path.value_or("");
  settings.driver_root_of_file = file.container_driver_root.value_or("");
  if (settings.use_node_feature_api && flags.node_name.empty()) {
    return Fail(ErrorKind::kInvalid,
                "--node-name (NODE_NAME): must be set to publish a NodeFeature");
  }
  return settings;
}

std::string DriverRoot(const Settings& settings,
                       const std::map<std::string, std::string>& driver_ready) {
  if (!settings.driver_root.empty()) {
    return settings.driver_root;
  }
  const auto ready = driver_ready.find("DRIVER_ROOT_CTR_PATH");
  return ready != driver_ready.end() && !ready->second.empty() ? ready->second
                                                               : settings.driver_root_of_file;
}

}  // namespace gantry::gpu_features
