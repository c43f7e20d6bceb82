// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "agent/status_flags.h"
#include "base/error.h"
#include "http/server.h"
#include "operands/metrics_exporter/device_selector.h"
#include "operands/metrics_exporter/pod_holders.h"
#include "operands/metrics_exporter/pod_labels.h"
#include "operands/metrics_exporter/series.h"
#include "operands/metrics_exporter/yaml_config.h"
#include "policy/names.h"

namespace gantry::metrics_exporter {

inline constexpr char kProgram[] = "dcgm-exporter";

// What the command line and the environment say. Flags, aliases, variables and defaults are those
// of dcgm-exporter 4.8.
struct Flags : agent::StatusFlags {
  std::string collectors = "/etc/dcgm-exporter/default-counters.csv";
  std::optional<std::string> counters = {};  // the text of such a file, in its place
  std::vector<WatchGroup> groups = {};       // `interval` is the shortest of theirs
  std::string address = ":9400";
  DeviceSelector devices;
  http::ServerOptions web{.write_timeout = std::chrono::seconds(30)};
  std::chrono::milliseconds interval{30'000};
  bool kubernetes = false;
  std::string config_map;  // "namespace:name"; empty: none
  std::string kubeconfig;  // empty: the pod's service account
  std::string pod_resources = "/var/lib/kubelet/pod-resources/kubelet.sock";
  PodChoice pods;
  bool pod_labels = false;
  LabelFilter label_filter;
  bool claims = false;   // dynamic resource allocation
  std::string jobs_dir;  // empty: none
  EventLog::Windows windows;
  Labelling labelling;
  bool process_metrics = false;
  bool debug = false;
  bool list_fields = false;            // print what can be asked for, and end
  std::vector<std::string> no_effect;  // flags that were given and change nothing here
  std::vector<std::string> not_yet;    // flags that ask for what there is not yet
  // Ours.
  std::string host_root;
  std::string kubelet_root;  // its --root-dir, on the host; empty: where its socket is
  std::string state_dir = names::kExporterState;  // empty: nothing outlives the process
  std::string driver_root;                        // as seen here; empty: as the validator says
};

// nullopt: help or version was printed. kInvalid names the flag.
Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv);

// Files that dcgm-exporter's image has: where none is there under such a name, the built-in
// counters are meant.
bool IsShippedFile(const std::string& path);

}  // namespace gantry::metrics_exporter
