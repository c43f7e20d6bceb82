// SPDX-License-Identifier: Apache-2.0
// What is the driver manager to do? NVIDIA's flags, each with its variable; a flag wins.
#include "operands/driver/driver_manager/manager_options.h"

#include <CLI/CLI.hpp>
#include <cctype>

#include "base/command_line.h"
#include "base/text.h"
#include "policy/names.h"

namespace gantry::driver {
namespace {

void AddCluster(CLI::App& app, ManagerOptions& options) {
  app.add_option("--node-name", options.node_name, "this node")->envname(names::kNodeName);
  app.add_option("--operator-namespace", options.space, "the operands' namespace")
      ->envname(names::kOperatorNamespace)
      ->capture_default_str();
  app.add_option("--kubeconfig", options.kubeconfig, "path of a kubeconfig; empty: in-cluster")
      ->envname("KUBECONFIG");
  app.add_option("--node-label-for-gpu-pod-eviction", options.own_label,
                 "a label of this node that is paused as those of the operands are")
      ->envname("NODE_LABEL_FOR_GPU_POD_EVICTION");
}

void AddEviction(CLI::App& app, ManagerOptions& options, std::string& timeout) {
  app.add_flag("--enable-gpu-pod-eviction", options.evict_gpu_pods,
               "pods with GPUs are evicted before the driver is unloaded")
      ->envname("ENABLE_GPU_POD_EVICTION");
  app.add_flag("--enable-auto-drain", options.auto_drain,
               "the node is drained where that is not enough")
      ->envname("ENABLE_AUTO_DRAIN");
  app.add_flag("--drain-use-force", options.force, "pods without a controller go too")
      ->envname("DRAIN_USE_FORCE");
  app.add_option("--drain-pod-selector-label", options.pod_selector,
                 "a label selector: which pods are evicted")
      ->envname("DRAIN_POD_SELECTOR_LABEL");
  app.add_option("--drain-timeout-seconds", timeout, "for an eviction: 300s, 5m; 0s: no limit")
      ->envname("DRAIN_TIMEOUT_SECONDS")
      ->capture_default_str();
  app.add_flag("--drain-delete-emptydir-data", options.delete_empty_dir,
               "pods with data in an emptyDir go too")
      ->envname("DRAIN_DELETE_EMPTYDIR_DATA");
}

void AddNode(CLI::App& app, ManagerOptions& options) {
  app.add_flag("--force-reinstall", options.force_reinstall,
               "unload a driver that was loaded with the settings of now, too")
      ->envname("FORCE_REINSTALL");
  app.add_option("--driver-config-digest", options.digest,
                 "of the settings of now; a driver that was loaded with the same stays")
      ->envname("DRIVER_CONFIG_DIGEST");
  app.add_option("--root", options.root, "the node's root: /proc, /sys and /run are below it")
      ->envname("DRIVER_ROOT")
      ->capture_default_str();
  app.add_option("--host-root-mount", options.host_root,
                 "where the host's whole tree is mounted: is a driver installed in it?")
      ->envname("HOST_ROOT_MOUNT")
      ->capture_default_str();
  app.add_option("--termination-log", options.termination_log,
                 "where the reason of a failure is written, in one line")
      ->envname("TERMINATION_LOG")
      ->capture_default_str();
}

// Nothing here waits for a MOFED driver.
void AddUnused(CLI::App& app, bool& unused) {
  app.add_flag("--gpu-direct-rdma-enabled", unused, "accepted, not used")
      ->envname("GPU_DIRECT_RDMA_ENABLED");
  app.add_flag("--use-host-mofed", unused, "accepted, not used")->envname("USE_HOST_MOFED");
}

}  // namespace

Result<std::chrono::seconds> ParseSeconds(std::string_view text) {
  const std::string_view all = Trim(text);
  const auto wrong = [&] {
    return Fail(ErrorKind::kInvalid, format("'{}' is no duration such as 300s or 5m", all));
  };
  std::chrono::seconds sum{};
  std::string_view rest = all;
  if (rest.empty()) {
    return wrong();
  }
  while (!rest.empty()) {
    size_t digits = 0;
    while (digits < rest.size() && std::isdigit(static_cast<unsigned char>(rest[digits])) != 0) {
      ++digits;
    }
    const auto number = ParseInt(rest.substr(0, digits));
    rest.remove_prefix(digits);
    constexpr long long kMost = 10'000'000;
    if (!number || *number > kMost) {
      return wrong();
    }
    const char unit = rest.empty() ? 's' : rest.front();
    if (unit != 's' && unit != 'm' && unit != 'h') {
      return wrong();
    }
    sum += std::chrono::seconds(*number * (unit == 'h' ? 3600 : unit == 'm' ? 60 : 1));
    rest.remove_prefix(rest.empty() ? 0 : 1);
  }
  return sum;
}

std::variant<ManagerOptions, int> ParseManagerOptions(int argc, char** argv) {
  ManagerOptions options;
  options.root = "/";
  options.host_root = "/host";
  options.termination_log = "/dev/termination-log";
  std::string timeout = "0s";
  bool unused = false;
  CLI::App app(
      "Takes an older driver off this node before the driver's container starts: pauses the "
      "operands, evicts pods with GPUs, unloads the kernel modules, and lets the operands go on.",
      "driver-manager");
  app.set_version_flag("--version", GANTRY_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  AddCluster(app, options);
  AddEviction(app, options, timeout);
  AddNode(app, options);
  AddUnused(app, unused);
  app.add_subcommand("uninstall_driver", "make room for the driver's container")
      ->callback([&options] { options.word = ManagerWord::kUninstall; });
  app.add_subcommand("preflight_check", "tell what stands in a driver's way; changes nothing")
      ->callback([&options] { options.word = ManagerWord::kPreflight; });
  try {
    ParseWords(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  const auto seconds = ParseSeconds(timeout);
  if (!seconds || options.node_name.empty()) {
    std::fprintf(stderr, "driver-manager: %s\n",
                 seconds ? "--node-name (NODE_NAME) is needed"
                         : format("--drain-timeout-seconds (DRAIN_TIMEOUT_SECONDS): {}",
                                  seconds.error().message)
                               .c_str());
    return 1;
  }
  options.timeout = *seconds;
  return options;
}

}  // namespace gantry::driver
