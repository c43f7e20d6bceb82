// SPDX-License-Identifier: Apache-2.0
// What do the command line and the environment say? The flags are those of NFD's worker, which is
// started with Go's single dashes ("-owner-refs=pod,ds"); those that mean nothing here are
// accepted.
#include "operands/node_features/arguments.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "base/command_line.h"
#include "base/paths.h"
#include "base/text.h"
#include "nfd/label_policy.h"
#include "policy/names.h"

namespace gantry::node_features {
namespace {

// Flags that say what the configuration says too; what is given wins.
struct Overrides {
  std::vector<std::string> pci_classes;
  std::vector<std::string> pci_fields;
  std::vector<std::string> label_sources;
  std::vector<std::string> feature_sources;
  std::vector<std::string> unpublished;
  std::string white_list;
  std::string sleep_interval;
};

void AddOverrides(CLI::App& app, Overrides& to) {
  app.add_option("--pci-class", to.pci_classes, "PCI classes that are labelled")->delimiter(',');
  app.add_option("--pci-label-fields", to.pci_fields,
                 "any of class, vendor, device, subsystem_vendor, subsystem_device")
      ->delimiter(',')
      ->check(CLI::IsMember({"class", "vendor", "device", "subsystem_vendor", "subsystem_device"}));
  app.add_option("--label-sources", to.label_sources, "all, or names; -name takes one out")
      ->delimiter(',');
  app.add_option("--feature-sources", to.feature_sources, "the same for raw features")
      ->delimiter(',');
  app.add_option("--no-publish-features", to.unpublished, "features that are left out; cpu.*")
      ->delimiter(',');
  app.add_option("--label-whitelist", to.white_list, "expression for labels' names");
  app.add_option("--sleep-interval", to.sleep_interval,
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
  const char* variable = std::getenv("NFD_WORKER_CONFIG");
  const std::pair<std::string, std::string> layers[] = {
      {path, text.value_or("")},
      {"NFD_WORKER_CONFIG", variable == nullptr ? "" : variable},
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

void AddUnused(CLI::App& app) {
  for (const char* flag : {"--owner-refs", "--feature-gates"}) {
    app.add_option_function<std::string>(flag, [](const std::string&) {}, "accepted, unused");
  }
  // The logger's, whose lines are not these.
  for (const char* flag : {"-v,--v", "--vmodule", "--log_backtrace_at", "--log_dir", "--log_file",
                           "--log_file_max_size", "--stderrthreshold"}) {
    app.add_option_function<std::string>(
           flag, [](const std::string&) {}, "accepted, unused")
        ->take_last();
  }
  for (const char* flag :
       {"--no-owner-refs", "--add_dir_header", "--alsologtostderr", "--logtostderr", "--one_output",
        "--skip_headers", "--skip_log_headers", "--legacy_stderr_threshold_behavior"}) {
    app.add_flag_function(flag, [](int64_t) {}, "accepted, unused");
  }
}

}  // namespace

Result<std::optional<Arguments>> ParseArguments(int argc, const char* const* argv) {
  CLI::App app("Describes this node in labels.", "nfd-worker");
  app.set_version_flag("--version", GANTRY_VERSION);
  Arguments to;
  app.add_option("--kubeconfig", to.kubeconfig, "")->envname("KUBECONFIG");
  app.add_option("--namespace", to.space, "of the NodeFeature object (default: the pod's)")
      ->envname("KUBERNETES_NAMESPACE");
  app.add_option("--node-name", to.node_name, "")->envname(names::kNodeName);
  app.add_option("--host-prefix", to.host_prefix,
                 "what stands before sys and etc/os-release of the host")
      ->envname("HOST_PREFIX")
      ->default_val("/host-");
  app.add_option("--features-dir", to.features_dir, "files with labels")
      ->default_val(names::kFeaturesDir);
  app.add_option("--custom-dir", to.custom_dir, "files with rules")
      ->default_val(names::kCustomRulesDir);
  std::string config;
  std::string options;
  Overrides overrides;
  app.add_option("--config", config, "nfd-worker.conf")
      ->default_val("/etc/kubernetes/node-feature-discovery/nfd-worker.conf");
  app.add_option("--options", options, "configuration that is laid over the file's");
  AddOverrides(app, overrides);
  app.add_flag("--oneshot", to.oneshot, "label once and end");
  app.add_flag("--no-publish", to.no_publish, "publish nothing; with --oneshot, print the labels");
  // Older releases of NFD had metrics alone, under a flag of their own.
  app.add_option("--port,--metrics", to.port, "of /metrics and /healthz (default: none)")
      ->check(CLI::Range(0, 65535));
  AddUnused(app);
  try {
    ParseWords(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error, std::cout, std::cerr);
      return std::nullopt;
    }
    return Fail(ErrorKind::kInvalid, error.what());
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
