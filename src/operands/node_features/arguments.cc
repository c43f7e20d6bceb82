// SPDX-License-Identifier: Apache-2.0
// What do the command line and the environment say? The flags are those of NFD's worker, which is
// started with Go's single dashes ("-owner-refs=pod,ds"); those that mean nothing here are
// accepted.
#include "operands/node_features/arguments.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::node_features {
namespace {

// "-flag" -> "--flag"; what is no long flag stays.
std::vector<std::string> WithTwoDashes(int argc, const char* const* argv) {
  std::vector<std::string> words;
  for (int i = argc - 1; i > 0; --i) {  // CLI11 takes them last first
    const std::string_view word = argv[i];
    const bool single = word.size() > 2 && word[0] == '-' && word[1] != '-';
    words.push_back(format("{}{}", single ? "-" : "", word));
  }
  return words;
}

void AddUnused(CLI::App& app) {
  for (const char* flag :
       {"--config", "--options", "--owner-refs", "--feature-sources", "--label-sources",
        "--no-publish-features", "--port", "--feature-gates"}) {
    app.add_option_function<std::string>(flag, [](const std::string&) {}, "accepted, unused");
  }
  app.add_flag_callback("--no-owner-refs", [] {}, "accepted, unused");
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
      ->default_val("/etc/kubernetes/node-feature-discovery/features.d");
  app.add_option("--pci-class", to.labels.pci_classes, "PCI classes that are labelled")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--pci-label-fields", to.labels.pci_fields, "any of class, vendor, device")
      ->delimiter(',')
      ->check(CLI::IsMember({"class", "vendor", "device"}))
      ->capture_default_str();
  app.add_flag("--oneshot", to.oneshot, "label once and end");
  app.add_flag("--no-publish", to.no_publish, "print the labels");
  AddUnused(app);
  try {
    app.parse(WithTwoDashes(argc, argv));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error, std::cout, std::cerr);
      return std::nullopt;
    }
    return Fail(ErrorKind::kInvalid, error.what());
  }
  if (!to.no_publish && to.node_name.empty()) {
    return Fail(ErrorKind::kInvalid, "--node-name (NODE_NAME): must be set");
  }
  return to;
}

}  // namespace gantry::node_features
