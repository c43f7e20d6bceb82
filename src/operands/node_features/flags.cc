// SPDX-License-Identifier: Apache-2.0
// Which flags and variables does the worker have? Those of NFD's worker, which is started with Go's
// single dashes ("-owner-refs=pod,ds"); ones without effect here are accepted.
#include "operands/node_features/flags.h"

#include <utility>

#include "agent/flags.h"
#include "base/environment.h"
#include "base/paths.h"
#include "base/text.h"
#include "nfd/label_policy.h"
#include "policy/names.h"

namespace gantry::node_features {
namespace {

// Flags that the configuration has too; a given flag wins.
struct Overrides {
  std::vector<std::string> pci_classes;
  std::vector<std::string> pci_fields;
  std::vector<std::string> label_sources;
  std::vector<std::string> feature_sources;
  std::vector<std::string> unpublished;
  std::string white_list;
  std::string sleep_interval;
};

void AddOverrides(agent::FlagSet& set, Overrides& to) {
  set.List("--pci-class", to.pci_classes, {}, "PCI classes that are labelled");
  set.List("--pci-label-fields", to.pci_fields, {},
           "any of class, vendor, device, subsystem_vendor, subsystem_device")
      ->check(CLI::IsMember({"class", "vendor", "device", "subsystem_vendor", "subsystem_device"}));
  set.List("--label-sources", to.label_sources, {}, "all, or names; -name takes one out");
  set.List("--feature-sources", to.feature_sources, {}, "the same for raw features");
  set.List("--no-publish-features", to.unpublished, {}, "features that are left out; cpu.*");
  set.Value("--label-whitelist", to.white_list, {}, "expression for labels' names");
  set.Value("--sleep-interval", to.sleep_interval, {},
            "look at the node again after this long (60s); 0: only on events");
}

Status Apply(const Overrides& from, WorkerConfig& config) {
  LabelOptions& labels = config.labels;
  const auto replace = [](const std::vector<std::string>& given, std::vector<std::string>& list) {
    if (!given.empty()) {
      list = given;
    }
  };
  replace(from.pci_classes, labels.pci_classes);
  replace(from.pci_fields, labels.pci_fields);
  replace(from.label_sources, labels.label_sources);
  replace(from.feature_sources, labels.feature_sources);
  replace(from.unpublished, labels.unpublished);
  if (!from.white_list.empty()) {
    TRY_ASSIGN(labels.white_list, nfd::ParseWhiteList(from.white_list));
  }
  if (!from.sleep_interval.empty()) {
    auto interval = ParseSleepInterval(from.sleep_interval);
    if (!interval.has_value()) {
      return std::unexpected(interval.error().In("--sleep-interval"));
    }
    config.sleep_interval = *interval;
  }
  return {};
}

// The file if there is one, then the variable, then --options.
Status ReadConfig(const std::string& path, const std::string& options, WorkerConfig& config) {
  const Result<std::string> text = ReadFile(path);
  if (!text.has_value() && text.error().kind != ErrorKind::kNotFound) {
    return std::unexpected(text.error());
  }
  const std::pair<std::string, std::string> layers[] = {
      {path, text.value_or("")},
      {"NFD_WORKER_CONFIG", EnvironmentVariable("NFD_WORKER_CONFIG").value_or("")},
      {"--options", options}};
  std::vector<std::string> warnings;
  for (const auto& [name, yaml] : layers) {
    if (const Status read = Overlay(yaml, config); !read.has_value()) {
      return std::unexpected(read.error().In(name));
    }
    for (const std::string& warning : std::exchange(config.warnings, {})) {
      warnings.push_back(format("{}: {}", name, warning));
    }
  }
  config.warnings = std::move(warnings);
  return {};
}

void AddUnused(agent::FlagSet& set) {
  // The flags of Go's logger, from -v on, have no effect.
  for (const char* flag :
       {"--owner-refs", "--feature-gates", "-v,--v", "--vmodule", "--log_backtrace_at", "--log_dir",
        "--log_file", "--log_file_max_size", "--stderrthreshold"}) {
    set.Unused(flag);
  }
  for (const char* flag :
       {"--no-owner-refs", "--add_dir_header", "--alsologtostderr", "--logtostderr", "--one_output",
        "--skip_headers", "--skip_log_headers", "--legacy_stderr_threshold_behavior"}) {
    set.UnusedBool(flag);
  }
}

}  // namespace

Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv) {
  agent::FlagSet set(kProgram, "Describes this node in labels.");
  Flags to;
  set.Value("--kubeconfig", to.kubeconfig, {"KUBECONFIG"}, "");
  set.Value("--namespace", to.ns, {"KUBERNETES_NAMESPACE"},
            "of the NodeFeature object (default: the pod's)");
  set.Value("--node-name", to.node_name, {names::kNodeName}, "");
  set.Value("--host-prefix", to.host_prefix, {"HOST_PREFIX"},
            "what stands before sys and etc/os-release of the host")
      ->default_val("/host-");
  set.Value("--features-dir", to.features_dir, {}, "files with labels")
      ->default_val(names::kFeaturesDir);
  set.Value("--custom-dir", to.custom_dir, {}, "files with rules")
      ->default_val(names::kCustomRulesDir);
  std::string config;
  std::string options;
  Overrides overrides;
  set.Value("--config", config, {}, "nfd-worker.conf")
      ->default_val("/etc/kubernetes/node-feature-discovery/nfd-worker.conf");
  set.Value("--options", options, {}, "configuration that is laid over the file's");
  AddOverrides(set, overrides);
  set.Bool("--oneshot", to.oneshot, {}, "label once and end");
  set.Bool("--no-publish", to.no_publish, {}, "publish nothing; with --oneshot, print the labels");
  // Older releases of NFD had only metrics, with a flag of their own.
  set.Value("--port,--metrics", to.port, {}, "of /metrics and /healthz (default: none)")
      ->check(CLI::Range(0, 65535));
  AddUnused(set);
  TRY_ASSIGN(const bool run, set.Parse(argc, argv));
  if (!run) {
    return std::nullopt;
  }
  TRY(ReadConfig(config, options, to.config));
  TRY(Apply(overrides, to.config));
  to.no_publish |= to.config.no_publish;
  if (!to.no_publish && to.node_name.empty()) {
    return Fail(ErrorKind::kInvalid, "--node-name (NODE_NAME): must be set");
  }
  return to;
}

}  // namespace gantry::node_features
