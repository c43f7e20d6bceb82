// SPDX-License-Identifier: Apache-2.0
// What should the driver manager do? NVIDIA's flags, each with its variable; a flag wins.
#include "operands/driver/driver_manager/flags.h"

#include <cctype>

#include "agent/flags.h"
#include "base/text.h"
#include "policy/names.h"

namespace gantry::driver {
namespace {

void AddCluster(agent::FlagSet& set, ManagerFlags& flags) {
  set.Value("--node-name", flags.node_name, {names::kNodeName}, "this node");
  set.Value("--operator-namespace", flags.ns, {names::kOperatorNamespace},
            "the operands' namespace")
      ->capture_default_str();
  set.Value("--kubeconfig", flags.kubeconfig, {"KUBECONFIG"},
            "path of a kubeconfig; empty: in-cluster");
  set.Value("--node-label-for-gpu-pod-eviction", flags.own_label,
            {"NODE_LABEL_FOR_GPU_POD_EVICTION"},
            "a label of this node that is paused as those of the operands are");
}

void AddEviction(agent::FlagSet& set, ManagerFlags& flags, std::string& timeout) {
  set.Bool("--enable-gpu-pod-eviction", flags.evict_gpu_pods, {"ENABLE_GPU_POD_EVICTION"},
           "pods with GPUs are evicted before the driver is unloaded");
  set.Bool("--enable-auto-drain", flags.auto_drain, {"ENABLE_AUTO_DRAIN"},
           "the node is drained where that is not enough");
  set.Bool("--drain-use-force", flags.force, {"DRAIN_USE_FORCE"},
           "pods without a controller go too");
  set.Value("--drain-pod-selector-label", flags.pod_selector, {"DRAIN_POD_SELECTOR_LABEL"},
            "a label selector: which pods are evicted");
  set.Value("--drain-timeout-seconds", timeout, {"DRAIN_TIMEOUT_SECONDS"},
            "for an eviction: 300s, 5m; 0s: no limit")
      ->capture_default_str();
  set.Bool("--drain-delete-emptydir-data", flags.delete_empty_dir, {"DRAIN_DELETE_EMPTYDIR_DATA"},
           "pods with data in an emptyDir go too");
}

void AddNode(agent::FlagSet& set, ManagerFlags& flags) {
  set.Bool("--force-reinstall", flags.force_reinstall, {"FORCE_REINSTALL"},
           "unload a driver that was loaded with the settings of now, too");
  set.Value("--driver-config-digest", flags.digest, {"DRIVER_CONFIG_DIGEST"},
            "of the settings of now; a driver that was loaded with the same stays");
  set.Value("--root", flags.root, {"DRIVER_ROOT"},
            "the node's root: /proc, /sys and /run are below it")
      ->capture_default_str();
  set.Value("--host-root-mount", flags.host_root, {"HOST_ROOT_MOUNT"},
            "where the host's whole tree is mounted: is a driver installed in it?")
      ->capture_default_str();
  set.Value("--termination-log", flags.termination_log, {"TERMINATION_LOG"},
            "where the reason of a failure is written, in one line")
      ->capture_default_str();
}

// Nothing here waits for a MOFED driver.
void AddUnused(agent::FlagSet& set) {
  set.UnusedBool("--gpu-direct-rdma-enabled", {"GPU_DIRECT_RDMA_ENABLED"});
  set.UnusedBool("--use-host-mofed", {"USE_HOST_MOFED"});
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

Result<std::optional<ManagerFlags>> ParseManagerFlags(int argc, const char* const* argv) {
  ManagerFlags flags;
  flags.root = "/";
  flags.host_root = "/host";
  flags.termination_log = "/dev/termination-log";
  std::string timeout = "0s";
  agent::FlagSet set(
      kManagerProgram,
      "Takes an older driver off this node before the driver's container starts: pauses the "
      "operands, evicts pods with GPUs, unloads the kernel modules, and lets the operands go on.");
  CLI::App& app = set.app();
  app.require_subcommand(1);
  app.fallthrough();
  AddCluster(set, flags);
  AddEviction(set, flags, timeout);
  AddNode(set, flags);
  AddUnused(set);
  app.add_subcommand("uninstall_driver", "make room for the driver's container")
      ->callback([&flags] { flags.word = ManagerWord::kUninstall; });
  app.add_subcommand("preflight_check", "tell what stands in a driver's way; changes nothing")
      ->callback([&flags] { flags.word = ManagerWord::kPreflight; });
  TRY_ASSIGN(const bool run, set.Parse(argc, argv));
  if (!run) {
    return std::nullopt;
  }
  if (flags.node_name.empty()) {
    return Fail(ErrorKind::kInvalid, "--node-name (NODE_NAME) is needed");
  }
  const auto seconds = ParseSeconds(timeout);
  if (!seconds) {
    return std::unexpected(seconds.error().In("--drain-timeout-seconds (DRAIN_TIMEOUT_SECONDS)"));
  }
  flags.timeout = *seconds;
  return flags;
}

}  // namespace gantry::driver
