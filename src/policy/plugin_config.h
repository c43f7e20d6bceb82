// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// The configuration file of NVIDIA's device plugin (schema `version: v1`), which the plugin and GPU
// feature discovery both read. A pure reading of text: no file, no environment.
namespace gantry::policy {

enum class MigStrategy { kNone, kSingle, kMixed };
enum class SharingStrategy { kNone, kTimeSlicing, kMps };
enum class DeviceDiscovery { kAuto, kNvml, kTegra, kVfio };

std::string_view Name(MigStrategy strategy);      // "none", "single", "mixed"
std::string_view Name(SharingStrategy strategy);  // "none", "time-slicing", "mps"
Result<MigStrategy> ParseMigStrategy(std::string_view text);
Result<DeviceDiscovery> ParseDeviceDiscovery(std::string_view text);

// A duration as Go writes it ("60s", "1m30s", "1.5h", "infinite" or a number of nanoseconds).
// Infinite is nanoseconds::max().
Result<std::chrono::nanoseconds> ParseDuration(std::string_view text);

// `flags.gfd`
struct GfdFlags {
  std::optional<bool> oneshot;
  std::optional<bool> no_timestamp;
  std::optional<std::chrono::nanoseconds> sleep_interval;
  std::optional<std::string> output_file;
  std::optional<std::string> machine_type_file;
};

// `flags`: absent ones come from the command line, the environment and the defaults.
struct PluginFlags {
  std::optional<MigStrategy> mig_strategy;
  std::optional<bool> fail_on_init_error;
  std::optional<std::string> mps_root;
  std::optional<std::string> driver_root;  // nvidiaDriverRoot
  std::optional<std::string> dev_root;     // nvidiaDevRoot
  std::optional<bool> gdrcopy_enabled;
  std::optional<bool> gds_enabled;
  std::optional<bool> mofed_enabled;
  std::optional<bool> use_node_feature_api;
  std::optional<DeviceDiscovery> device_discovery;
  // `flags.plugin`
  std::optional<bool> pass_device_specs;
  std::optional<std::vector<std::string>> device_list_strategy;  // envvar volume-mounts cdi-...
  std::optional<std::string> device_id_strategy;                 // uuid, index
  std::optional<std::string> cdi_annotation_prefix;
  std::optional<std::string> ctk_path;  // nvidiaCTKPath
  std::optional<std::string> container_driver_root;
  std::optional<std::string> shared_devices_allocation_policy;  // distributed, packed
  GfdFlags gfd;
};

// `devices` of a shared resource; default: all of them.
struct SharedDevices {
  int count = 0;                  // above 0: the first `count`
  std::vector<std::string> list;  // not empty: these ("0", "0:1", "GPU-...", "MIG-...")

  [[nodiscard]] bool all() const { return count == 0 && list.empty(); }
  bool operator==(const SharedDevices&) const = default;
};

// One entry of `sharing.timeSlicing.resources` or `sharing.mps.resources`.
struct SharedResource {
  std::string name;  // with its prefix: "nvidia.com/gpu"
  int replicas = 0;  // at least 2
  SharedDevices devices = {};
};

// A resource may have several entries; the one with the most replicas applies to a device in
// several. kMps allows one entry.
struct Sharing {
  SharingStrategy strategy = SharingStrategy::kNone;
  bool rename_by_default = false;               // the resource's name gets the suffix ".shared"
  bool fail_requests_greater_than_one = false;  // MPS: true by default
  std::vector<SharedResource> resources;        // none under kNone

  // The maximum of its entries; 1 for a resource that is not shared. `resource` is the name before
  // renaming.
  [[nodiscard]] int ReplicasOf(std::string_view resource) const;
  [[nodiscard]] bool IsShared(std::string_view resource) const;
  // The name under which a resource is offered: with ".shared" if it is shared and renamed.
  [[nodiscard]] std::string OfferedName(std::string_view resource) const;
};

// Whether the device plugin may offer GPUs under that name, before the suffix ".shared".
bool MayBeOffered(std::string_view resource);

// `health.xids`, a key that upstream ignores: which XID errors take a GPU out of service,
// overriding the built-in table. No number is in two lists.
struct XidRules {
  std::vector<int> ignore;     // an application's
  std::vector<int> suspect;    // the GPU stays in service while it answers
  std::vector<int> unhealthy;  // out of service until it has recovered
  bool operator==(const XidRules&) const = default;
};

struct PluginConfig {
  PluginFlags flags;
  Sharing sharing;
  std::vector<int> imex_channel_ids;  // none or 0 alone
  bool imex_required = false;
  XidRules xids;
  // Keys that are accepted but have no effect, one sentence each, naming the key.
  std::vector<std::string> warnings;
};

// Reads YAML or JSON. An empty text is the empty configuration. Errors are kInvalid and name the
// key
// ("sharing.timeSlicing.resources[0].replicas: must be at least 2, is 0") or, for text that is not
// YAML, line and column. Unlike upstream's reader this one warns about unknown keys and rejects
// duplicate keys.
Result<PluginConfig> ParsePluginConfig(std::string_view text);

}  // namespace gantry::policy
