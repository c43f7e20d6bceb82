// SPDX-License-Identifier: Apache-2.0
// What is wrong with a GPU node? Its own labels and conditions say most: the validator's verdict is
// the label nvidia.com/gpu.validation, whose words are the codes here. Labels bear no time, so what
// may be under way is judged by when its writer wrote last.
#include "doctor/node_findings.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "base/text.h"
#include "doctor/cluster_findings.h"
#include "doctor/node_choice.h"
#include "policy/feature_labels.h"
#include "policy/names.h"
#include "policy/taints.h"

namespace gantry::doctor {
namespace {

// A MIG layout is changed within a minute, and clients are given ten to end.
constexpr std::chrono::minutes kMigPatience(15);
// An upgrade of a node waits for its turn and for jobs; the library gives up a drain after 5 min.
constexpr std::chrono::minutes kUpgradePatience(60);
// Who joins needs its images first.
constexpr std::chrono::minutes kNew(3);
// An image of hundreds of megabytes is pulled, and the driver compiled.
constexpr std::chrono::minutes kDriverPatience(20);
// A machine starts, and its agents come up.
constexpr std::chrono::minutes kStartPatience(15);
// Labels are set back one after the other.
constexpr std::chrono::minutes kPausePatience(3);
// The operator acts on a deadline at once, and writes its status some seconds later.
constexpr std::chrono::minutes kUpgradeGrace(1);

bool LabelIs(const NodeFacts& node, const std::string& label, std::string_view value) {
  return ValueOf(node, label) == value;
}

long long Sum(const GpuCounts& counts) {
  long long sum = 0;
  for (const auto& [resource, count] : counts) {
    sum += count;
  }
  return sum;
}

std::string NodeName(const NodeFacts& node) { return "node " + node.name; }

bool OlderThan(const ClusterFacts& cluster, const NodeFacts& node, const char* label,
               std::chrono::minutes limit) {
  const auto at = node.written.find(label);
  return at != node.written.end() && at->second < Rfc3339(cluster.now - limit);
}

// --- the validator's words -----------------------------------------------------------------------

struct Verdict {
  std::string_view code;  // operands/validator's reason
  std::string_view message;
  std::string_view remedy;
};

constexpr char kDriverMissing[] = "DriverMissing";
constexpr char kNoGpuAllocatable[] = "NoGpuAllocatable";
constexpr char kDevicePlugin[] = "device-plugin";  // in labels
// The MIG manager's, as names::kDeployPaused is a driver manager's.
constexpr char kMigPause[] = "paused-for-mig-change";

constexpr char kToolkitLog[] =
    "look at the container toolkit's log there: kubectl logs -A -l "
    "app=nvidia-container-toolkit-daemonset --prefix";
constexpr char kPluginLog[] =
    "look at the device plugin's log there: kubectl logs -A -l app=nvidia-device-plugin-daemonset "
    "--prefix";
constexpr char kNvidiaSmi[] = "run `nvidia-smi` on the node; its kernel log (NVRM, Xid) says more";

constexpr std::array kVerdicts = std::to_array<Verdict>({
    {kDriverMissing, "has a GPU on its PCI bus, and no driver was found on it",
     "install NVIDIA's driver on the node, or name a driver image in the ClusterPolicy"},
    {"DriverContainerNotReady", "its driver container has not said that it is ready",
     "look at the log of the driver's pod there: kubectl logs -A -l "
     "app.kubernetes.io/component=nvidia-driver --prefix"},
    {"DriverNotInstalled", "its driver's container could not install the driver",
     "`kubectl describe node` has the reason in an event, and so has the log of the driver's pod "
     "there: kubectl logs -A -l app.kubernetes.io/component=nvidia-driver --prefix"},
    {"LibraryMissing", "its driver lacks libnvidia-ml.so.1",
     "install the driver's libraries, in the version of its kernel module"},
    {"KernelModuleNotLoaded", "its driver is installed and the kernel module is not loaded",
     "run `modprobe nvidia` there; after an update of the kernel install the driver for the new "
     "one, with Secure Boot sign it"},
    {"VersionMismatch", "its kernel module and its driver's libraries are of two versions",
     "restart the node: the driver was updated under the running kernel"},
    {"DeviceNodeMissing", "a device node of its GPUs is not there",
     "run `nvidia-modprobe -u -c 0` as root on the node, or enable nvidia-persistenced"},
    {"GpuBoundToNouveau", "nouveau holds its GPU",
     "blacklist nouveau, rebuild the initial ramdisk and restart the node"},
    {"GpuBoundToVfio", "vfio-pci holds its GPU, for virtual machines",
     "bind the GPU to nvidia, or label the node nvidia.com/gpu.workload.config=vm-passthrough"},
    {"DriverHangs", "its driver does not answer",
     "look into its kernel log for NVRM and Xid lines, and restart the node"},
    {"DriverFails", "its driver answers with an error", kNvidiaSmi},
    {"NoGpuAnswers", "its driver is loaded and reports no GPU", kNvidiaSmi},
    {"NoGpu", "no GPU is on its PCI bus any more", "look whether the machine sees the card"},
    {"ToolkitNotInstalled", "the container toolkit is not installed on it", kToolkitLog},
    {"ToolkitBroken", "the container toolkit that is installed on it does not run", kToolkitLog},
    {"CdiMissing", "has no CDI document for its GPUs", kToolkitLog},
    {"CdiInvalid", "its CDI document can't be read", kToolkitLog},
    {"CdiStale", "its CDI document names files that are not there", kToolkitLog},
    {"RuntimeNotConfigured", "its container runtime could not be given the NVIDIA runtimes",
     kToolkitLog},
    {"RuntimeNeedsRestart", "its container runtime runs without the NVIDIA runtimes",
     "restart the container runtime there, or delete RUNTIME_RESTART_MODE from toolkit.env"},
    {kNoGpuAllocatable, "has a GPU and a driver, and its kubelet offers no GPU", kPluginLog},
    {"CdiHookMissing", "its CDI document calls a program that is not on it",
     "install NVIDIA's Container Toolkit there, or set toolkit.enabled=true in the ClusterPolicy"},
    {"KubeletDoesNotAnswer", "its kubelet's pod-resources socket does not answer",
     "look whether the kubelet runs on this node"},
    {"CudaHangs", "CUDA does not start on it", kNvidiaSmi},
    {"CudaFails", "CUDA answers with an error on it", kNvidiaSmi},
    {"CudaVersionMismatch", "its driver and its libcuda differ",
     "restart the node, so that the kernel module is the installed driver's"},
    {"FabricManagerNotReady", "its NVSwitch system is not initialised",
     "start nvidia-fabricmanager there, in the driver's version"},
    {"ModuleNotLoaded", "a kernel module that its driver container brings is not loaded",
     "look at the log of the driver's pod there"},
    {"MofedNotReady", "RDMA is asked for, and its Mellanox driver is not there",
     "install MOFED on the node, or the network operator"},
});

Finding Validated(const NodeFacts& node, const std::string& reason) {
  const std::string words = node.validator_says.empty() ? "" : ": " + node.validator_says;
  const auto known = std::ranges::find(kVerdicts, reason, &Verdict::code);
  if (known == kVerdicts.end()) {
    return Problem("ValidationFailed", NodeName(node),
                   format("the validator says {}", reason) + words,
                   format("kubectl describe node {} has the whole sentence", node.name));
  }
  // There are many reasons; of the other words there is one each.
  const bool tell = known->code == "DriverNotInstalled" || known->code == "RuntimeNotConfigured" ||
                    known->code == "CudaFails";
  return Problem(reason, NodeName(node), std::string(known->message) + (tell ? words : ""),
                 std::string(known->remedy));
}

// --- changes that are under way, or stuck
// ----------------------------------------------------------

bool IsMigChanging(const NodeFacts& node) {
  return LabelIs(node, names::kMigConfigState, "pending") ||
         LabelIs(node, names::kMigConfigState, "rebooting");
}

std::optional<Finding> MigChange(const ClusterFacts& cluster, const NodeFacts& node) {
  const std::string state = ValueOf(node, names::kMigConfigState);
  const std::string layout = ValueOf(node, names::kMigConfig);
  if (state == "failed") {
    return Problem("MigChangeFailed", NodeName(node),
                   format("could not be given the MIG layout {}", layout),
                   format("look at the MIG manager's log there, then set the label {} once more",
                          names::kMigConfig));
  }
  if (!IsMigChanging(node)) {
    return std::nullopt;
  }
  if (!node.holders.empty()) {
    return Note("MigChangeWaits", NodeName(node),
                format("gets the MIG layout {} when the pods that hold its GPUs have ended: {}",
                       layout, Join(node.holders, ", ")),
                "wait, or end them");
  }
  if (OlderThan(cluster, node, names::kMigConfigState, kMigPatience)) {
    return Problem("MigChangeStuck", NodeName(node),
                   format("is to get the MIG layout {} since {}, and nothing happens (state {})",
                          layout, node.written.at(names::kMigConfigState), state),
                   "restart the MIG manager's pod there, or the node if a process outside of "
                   "Kubernetes holds a GPU (nvidia-smi)");
  }
  return std::nullopt;
}

bool IsUpgrading(const NodeFacts& node) {
  const std::string state = ValueOf(node, names::kDriverUpgradeState);
  return !state.empty() && state != "upgrade-done" && state != "upgrade-failed";
}

// Its turn has come, and its GPUs go away for a while.
bool HasItsTurn(const NodeFacts& node) {
  return IsUpgrading(node) && !LabelIs(node, names::kDriverUpgradeState, "upgrade-required");
}

// What the operator says of the node's upgrade, if it speaks of the state that the node is in.
UpgradeFacts ToldOf(const ClusterFacts& cluster, const NodeFacts& node) {
  const std::string state = ValueOf(node, names::kDriverUpgradeState);
  for (const PolicyFacts& policy : cluster.policies) {
    for (const UpgradeFacts& told : policy.upgrades.value_or(UpgradesFacts()).nodes) {
      if (told.node == node.name && told.state == state) {
        return told;
      }
    }
  }
  return {.node = node.name, .state = state};
}

// Time alone ends a step that has a deadline.
bool TakesTooLong(const ClusterFacts& cluster, const NodeFacts& node) {
  return OlderThan(cluster, node, names::kDriverUpgradeState, kUpgradePatience) &&
         ToldOf(cluster, node).deadline.empty();
}

// A node that waits for its turn is no trouble while another one gets on, or if it is to have none.
bool MayWait(const ClusterFacts& cluster, const NodeFacts& node) {
  return LabelIs(node, names::kDriverUpgradeState, "upgrade-required") &&
         (LabelIs(node, names::kDriverUpgradeSkip, "true") ||
          std::ranges::any_of(cluster.nodes, [&](const NodeFacts& other) {
            return other.name != node.name && HasItsTurn(other) && !TakesTooLong(cluster, other);
          }));
}

std::string Because(const UpgradeFacts& told) {
  return told.reason.empty() ? "" : ": " + told.reason;
}

bool IsEmptied(const UpgradeFacts& told) {
  return told.state == "wait-for-jobs-required" || told.state == "pod-deletion-required" ||
         told.state == "drain-required";
}

std::string Until(const UpgradeFacts& told) {
  return told.deadline.empty() ? "" : format(" (until {})", told.deadline);
}

std::optional<Finding> DriverUpgrade(const ClusterFacts& cluster, const NodeFacts& node) {
  const std::string state = ValueOf(node, names::kDriverUpgradeState);
  const UpgradeFacts told = ToldOf(cluster, node);
  if (state == "upgrade-failed") {
    return Problem(
        "DriverUpgradeFailed", NodeName(node),
        "its driver could not be upgraded, and it takes no pods" + Because(told),
        format("correct the cause (the log of the driver's pod there may say more), then kubectl "
               "label node {} {}-",
               node.name, names::kDriverUpgradeState));
  }
  if (!told.deadline.empty() && told.deadline < Rfc3339(cluster.now - kUpgradeGrace)) {
    return Problem("DriverUpgradeOverdue", NodeName(node),
                   format("its driver's upgrade is at {} since {}, which was to end by {}{}", state,
                          told.since, told.deadline, Because(told)),
                   "look whether the operator runs: its log says what keeps it");
  }
  if (IsEmptied(told) && told.reason.find("disruption budget") != std::string::npos) {
    return Problem("DriverUpgradeHeldByBudget", NodeName(node),
                   format("its driver's upgrade waits for a PodDisruptionBudget{}{}", Until(told),
                          Because(told)),
                   "let the budget's workload have one more replica, raise its maxUnavailable, or "
                   "delete the pod");
  }
  if (IsUpgrading(node) && TakesTooLong(cluster, node) && !MayWait(cluster, node)) {
    return Problem("DriverUpgradeStuck", NodeName(node),
                   format("its driver's upgrade is at {} since {}{}", state,
                          node.written.at(names::kDriverUpgradeState), Because(told)),
                   "look for pods there that do not end (`kubectl get pods -A --field-selector "
                   "spec.nodeName=" +
                       node.name + "`) and at spec.driver.upgradePolicy");
  }
  if (IsEmptied(told) && !told.reason.empty()) {
    return Note("DriverUpgradeWaitsForPods", NodeName(node),
                format("its driver's upgrade waits{}{}", Until(told), Because(told)),
                told.state == "wait-for-jobs-required"
                    ? "wait, or set driver.upgradePolicy.waitForCompletion.timeoutSeconds"
                    : "wait, or end those pods");
  }
  return std::nullopt;
}

std::optional<Finding> LeftCordoned(const ClusterFacts& /*cluster*/, const NodeFacts& node) {
  if (!node.cordoned || !node.upgrade_cordon || HasItsTurn(node)) {
    return std::nullopt;
  }
  return Problem("NodeLeftCordoned", NodeName(node),
                 "was cordoned by an upgrade of its driver that is not under way any more",
                 format("look whether the operator runs, which would go on with it; else kubectl "
                        "uncordon {}",
                        node.name));
}

// --- a node
// ----------------------------------------------------------------------------------------

// Not of a node whose kubelet was there before.
bool IsStarted(const ClusterFacts& cluster, const NodeFacts& node) {
  const bool passes = std::ranges::any_of(
      node.taints, [](const Taint& taint) { return policy::PassesByItself(taint.key); });
  return node.why_not_ready.find("stopped posting") == std::string::npos &&
         (IsNew(cluster, node.made_at) ||
          (passes && node.made_at > Rfc3339(cluster.now - kStartPatience)));
}

Finding NotReady(const ClusterFacts& cluster, const NodeFacts& node) {
  const std::string words = Lower(node.why_not_ready);
  const auto says = [&words](std::string_view each) {
    return words.find(each) != std::string::npos;
  };
  if (says("container runtime is down") || says("container runtime not ready") ||
      says("container runtime status check may not have completed yet") || says("pleg")) {
    return Problem(
        "RuntimeDown", NodeName(node),
        format("has GPUs, and its container runtime does not answer: {}", node.why_not_ready),
        "`systemctl status containerd` (or crio) there; `gantry host-cleanup` takes the "
        "toolkit's part of its configuration back");
  }
  constexpr char kNotReady[] = "NodeNotReady";
  const std::string message =
      "has GPUs and is not ready" + (node.why_not_ready.empty() ? "" : ": " + node.why_not_ready);
  if (node.leaving) {
    return Note(kNotReady, NodeName(node), message, "wait: it is being taken away");
  }
  if (IsStarted(cluster, node)) {
    return Note(kNotReady, NodeName(node), message, "wait: it is being started");
  }
  return Problem(kNotReady, NodeName(node), message,
                 says("network not ready")
                     ? "look at the network plugin's pod there, which has not "
                       "configured the node (/etc/cni/net.d)"
                     : "look at the kubelet on that node");
}

// Whether a policy that is acted on asks for no such operand.
bool IsOff(const ClusterFacts& cluster, bool PolicyFacts::* enabled) {
  return std::ranges::any_of(cluster.policies, [enabled](const PolicyFacts& policy) {
    return policy.state != "ignored" && !(policy.*enabled);
  });
}

// Whether a policy that is acted on asks for that operand on that node; without a policy: by its
// label alone.
bool IsAskedFor(const ClusterFacts& cluster, bool PolicyFacts::* enabled, const NodeFacts& node,
                const char* operand) {
  return !IsOff(cluster, enabled) && LabelIs(node, DeployLabel(operand), "true");
}

// Whether the operator has said which operands the node gets.
bool IsTakenIn(const NodeFacts& node) {
  return std::ranges::any_of(node.labels, [](const auto& label) {
    return label.first.starts_with(names::kDeployPrefix) && label.first != names::kDeployOperands;
  });
}

// Whether its GPUs go to virtual machines, and containers are offered none.
bool IsForMachines(const NodeFacts& node) {
  return std::ranges::any_of(
      std::array{"sandbox-device-plugin", "kata-sandbox-device-plugin"},
      [&node](const char* plugin) { return !ValueOf(node, DeployLabel(plugin)).empty(); });
}

// Whether the validator's verdict is to stand on the node. Who could not look at the validator
// takes it for ours.
bool IsToBeValidated(const ClusterFacts& cluster, const NodeFacts& node) {
  const bool theirs = std::ranges::any_of(cluster.operands, [](const OperandFacts& operand) {
    return operand.name == "nvidia-operator-validator" && !operand.publishes;
  });
  return !theirs && LabelIs(node, names::kDeployValidator, "true");
}

bool AwaitsVerdict(const ClusterFacts& cluster, const NodeFacts& node) {
  return ValueOf(node, names::kGpuValidation).empty() && IsToBeValidated(cluster, node);
}

// What the validator says; that the kubelet offers no GPU is no fault where nobody is to offer one.
std::string VerdictOf(const ClusterFacts& cluster, const NodeFacts& node) {
  const std::string validation = ValueOf(node, names::kGpuValidation);
  return validation == kNoGpuAllocatable && !IsPluginAskedFor(cluster, node)
             ? names::kValidationReady
             : validation;
}

// What the validator says is wrong with it, or the word for it where no validator speaks and the
// kubelet offers no GPU; empty: nothing.
std::string WordOf(const ClusterFacts& cluster, const NodeFacts& node) {
  const std::string validation = VerdictOf(cluster, node);
  if (!validation.empty() && validation != names::kValidationReady) {
    return validation;
  }
  if (Sum(node.capacity) > 0 || AwaitsVerdict(cluster, node) || IsNew(cluster, node.made_at) ||
      !IsPluginAskedFor(cluster, node)) {
    return "";
  }
  const bool driver = node.labels.contains(names::kCudaDriverVersionFull) || !validation.empty();
  return driver ? kNoGpuAllocatable : kDriverMissing;
}

// The operand that brings the node its driver; nullptr: none does.
const OperandFacts* DriverOf(const ClusterFacts& cluster, const NodeFacts& node) {
  const auto found = std::ranges::find_if(cluster.operands, [&node](const OperandFacts& operand) {
    return BringsDriver(operand.name) && Takes(operand.choice, node);
  });
  return found == cluster.operands.end() ? nullptr : &*found;
}

// The files of NVIDIA's driver container are there when it has loaded its modules: until then the
// driver is missing, which is no finding of its own.
bool IsAboutDriversFiles(std::string_view word) {
  return word == kDriverMissing || word == "DriverContainerNotReady";
}

// Whether a finding of the operand says why it does not run on that node.
bool IsTold(const std::vector<Finding>& findings, const OperandFacts& operand,
            const NodeFacts& node) {
  const std::string refused = format("DaemonSet {}/{}", operand.space, operand.name);
  const std::string fails = format("DaemonSet {} on ", operand.name);
  return std::ranges::any_of(findings, [&](const Finding& finding) {
    return finding.object == refused ||
           (finding.object.starts_with(fails) && finding.nodes.contains(node.name));
  });
}

// Whether the device plugin has a finding of its own there, or has had no time to register yet.
bool IsPluginAwaited(const ClusterFacts& cluster, const std::vector<Finding>& findings,
                     const NodeFacts& node) {
  const auto plugin = std::ranges::find(cluster.operands, kDevicePluginSet, &OperandFacts::name);
  return IsNew(cluster, node.made_at) ||
         (plugin != cluster.operands.end() &&
          (IsNew(cluster, plugin->made_at) || IsTold(findings, *plugin, node) ||
           std::ranges::find(plugin->young, node.name) != plugin->young.end()));
}

std::optional<Finding> LayoutsDiffer(const NodeFacts& node) {
  if (!ValueOf(node, names::kGpuProduct).ends_with("MIG-INVALID")) {
    return std::nullopt;
  }
  return Problem("MigLayoutsDiffer", NodeName(node),
                 "its GPUs are split in different ways, which the MIG strategy `single` can't "
                 "offer",
                 "give all of its GPUs one layout, or set mig.strategy=mixed");
}

// Whether a configuration's own finding says why its device plugin takes no settings.
bool IsConfigTold(const ClusterFacts& cluster, const std::vector<Finding>& findings,
                  const NodeFacts& node) {
  const auto mistaken = [&node](const ConfigFacts& config) {
    return !config.mistake.empty() && node.not_offered.find(config.mistake) != std::string::npos;
  };
  const auto unknown = [&node](const Finding& finding) {
    return finding.code == kConfigUnknown &&
           (finding.object == NodeName(node) || !finding.object.starts_with("node "));
  };
  return std::ranges::any_of(cluster.configs.value_or(std::vector<ConfigFacts>()), mistaken) ||
         std::ranges::any_of(findings, unknown);
}

bool RefusesSettings(const NodeFacts& node) { return node.not_offered_for == kSettingsRefused; }

std::optional<Finding> OfSettings(const ClusterFacts& cluster, const std::vector<Finding>& findings,
                                  const NodeFacts& node) {
  if (IsConfigTold(cluster, findings, node)) {
    return std::nullopt;
  }
  return Problem(kConfigInvalid, NodeName(node),
                 "its device plugin does not take its settings: " + node.not_offered,
                 "correct the ConfigMap, devicePlugin.env or mig.strategy");
}

// Where NVIDIADrivers bring the drivers, and none of them brings the node's.
std::optional<Finding> NoNvidiaDriver(const ClusterFacts& cluster, const NodeFacts& node) {
  const bool apart = std::ranges::any_of(cluster.policies, [](const PolicyFacts& policy) {
    return policy.state != "ignored" && policy.drivers_apart;
  });
  if (!apart || !LabelIs(node, DeployLabel("driver"), "true")) {
    return std::nullopt;
  }
  Finding finding = Validated(node, kDriverMissing);
  const std::string owner = ValueOf(node, names::kDriverOwner);
  if (owner.empty()) {
    finding.message += "; no NVIDIADriver selects it";
    finding.remedy = "create an NVIDIADriver for it, or correct the nodeSelector of one";
  } else {
    finding.remedy = format(
        "look at the NVIDIADriver {}, which is to bring it one: its status says more", owner);
  }
  return finding;
}

// Whether a taint of it is what keeps pods off: no pod is there whose log could be looked at.
bool IsUntolerated(const std::vector<Finding>& findings, const NodeFacts& node) {
  return std::ranges::any_of(findings, [&node](const Finding& finding) {
    return finding.code == kTaintNotTolerated &&
           (" " + finding.message).find(format(" {}: ", node.name)) != std::string::npos;
  });
}

// What the word means on that node, besides the findings of operands; nothing: they say it.
std::optional<Finding> Lacking(const ClusterFacts& cluster, const std::vector<Finding>& findings,
                               const NodeFacts& node, const std::string& word) {
  const OperandFacts* driver = DriverOf(cluster, node);
  if (IsAboutDriversFiles(word) && driver != nullptr) {
    if (IsTold(findings, *driver, node) || IsUntolerated(findings, node)) {
      return std::nullopt;
    }
    if (IsInstalling(cluster, node)) {
      return Note("DriverContainerNotReady", NodeName(node), "its driver is being installed",
                  "wait: its image is pulled, and often its modules are compiled");
    }
    return Validated(node, "DriverContainerNotReady");
  }
  if (word == kDriverMissing) {
    return NoNvidiaDriver(cluster, node).value_or(Validated(node, word));
  }
  if (word != kNoGpuAllocatable) {
    return Validated(node, word);
  }
  if (IsPluginAwaited(cluster, findings, node)) {
    return std::nullopt;
  }
  if (RefusesSettings(node)) {
    return OfSettings(cluster, findings, node);
  }
  Finding finding = LayoutsDiffer(node).value_or(Validated(node, word));
  if (finding.code == word && !node.not_offered.empty()) {
    finding.message += "; its device plugin said: " + node.not_offered;
  }
  return finding;
}

// The manager's word that keeps its device plugin off meanwhile; empty: none does.
std::string_view PauseOf(const NodeFacts& node) {
  const std::string value = ValueOf(node, DeployLabel(kDevicePlugin));
  for (const std::string_view pause : {names::kDeployPaused, kMigPause}) {
    if (value.find(pause) != std::string::npos) {
      return pause;
    }
  }
  return "";
}

// A driver manager takes its pause back before the driver is loaded; without one nobody does, and
// the MIG manager's ends with the change. Nobody knows it of a pause without a time.
bool IsPauseLeft(const ClusterFacts& cluster, const NodeFacts& node) {
  const std::string_view pause = PauseOf(node);
  const bool driver = pause == names::kDeployPaused &&
                      (DriverOf(cluster, node) != nullptr || IsUnread(cluster, kDaemonSetsPart));
  return !pause.empty() && !IsChanging(node) &&
         OlderThan(cluster, node, DeployLabel(kDevicePlugin).c_str(),
                   driver ? kUpgradePatience : kPausePatience);
}

std::optional<Finding> Paused(const ClusterFacts& cluster, const std::vector<Finding>& findings,
                              const NodeFacts& node) {
  const OperandFacts* driver = DriverOf(cluster, node);
  if (!IsPauseLeft(cluster, node) || (driver != nullptr && IsTold(findings, *driver, node))) {
    return std::nullopt;
  }
  const std::string label = DeployLabel(kDevicePlugin);
  return Problem(
      "OperandsPaused", NodeName(node),
      format("its operands are paused for {} since {}, and none is under way ({}={})",
             PauseOf(node) == kMigPause ? "a change of its MIG layout" : "a driver's upgrade",
             node.written.at(label), label, ValueOf(node, label)),
      format("kubectl label node {} --overwrite {}=true, and so its other labels {}* "
             "with that value",
             node.name, label, names::kDeployPrefix));
}

// Nothing is offered, and no GPU of it is said to be out of service.
bool OffersNothing(const NodeFacts& node) {
  return Sum(node.allocatable) == 0 && node.gpus_out.empty();
}

// Of a device plugin that was taken away the kubelet shows the GPUs some minutes more, and offers
// none.
bool HasUnhealthy(const ClusterFacts& cluster, const NodeFacts& node) {
  const bool off = IsOff(cluster, &PolicyFacts::offers_gpus) ||
                   (IsTakenIn(node) && !IsForMachines(node) &&
                    !LabelIs(node, DeployLabel(kDevicePlugin), "true"));
  return Sum(node.allocatable) < Sum(node.capacity) && !(off && OffersNothing(node));
}

// The same of a device plugin that does not run: its own finding tells.
std::optional<Finding> Unhealthy(const ClusterFacts& cluster, const std::vector<Finding>& findings,
                                 const NodeFacts& node) {
  const long long capacity = Sum(node.capacity);
  const long long allocatable = Sum(node.allocatable);
  const bool awaited = OffersNothing(node) && IsPluginAwaited(cluster, findings, node);
  // Its pods went with the operator's, and come back with it.
  const auto& operands = cluster.operands;
  const bool stopped =
      OffersNothing(node) &&
      std::ranges::find(findings, kOperatorStopped, &Finding::code) != findings.end() &&
      std::ranges::find(operands, kDevicePluginSet, &OperandFacts::name) == operands.end();
  if (HasUnhealthy(cluster, node) && !awaited && !stopped) {
    if (OffersNothing(node) && RefusesSettings(node)) {
      return OfSettings(cluster, findings, node);
    }
    return Problem(
        "GpusUnhealthy", NodeName(node),
        format("{} of its {} GPUs are unhealthy{}", capacity - allocatable, capacity,
               node.gpus_out.empty() ? "" : ": " + node.gpus_out),
        format("kubectl describe node {} names the reason in its events; a GPU comes back by "
               "itself when it answers again",
               node.name));
  }
  return std::nullopt;
}

std::optional<Finding> Labelled(const ClusterFacts& cluster, const NodeFacts& node) {
  if (std::optional<Finding> differ = LayoutsDiffer(node)) {
    return differ;
  }
  if (ValueOf(node, names::kGpuProduct).empty() &&
      IsAskedFor(cluster, &PolicyFacts::labels_gpus, node, "gpu-feature-discovery")) {
    return Problem("LabelsMissing", NodeName(node),
                   "offers GPUs, and lacks the labels that say which",
                   "look at the log of GPU feature discovery there: kubectl logs -A -l "
                   "app=gpu-feature-discovery --prefix");
  }
  return std::nullopt;
}

// Somebody asks for a layout, and nobody has answered who could.
std::optional<Finding> MigUnmanaged(const ClusterFacts& cluster, const NodeFacts& node) {
  const std::string layout = ValueOf(node, names::kMigConfig);
  const bool asked =
      !layout.empty() && layout != "all-disabled" && ValueOf(node, names::kMigConfigState).empty();
  const bool managed = std::ranges::any_of(cluster.operands, [&node](const OperandFacts& operand) {
    return operand.name == "nvidia-mig-manager" && Takes(operand.choice, node);
  });
  if (!asked || managed || IsUnread(cluster, kDaemonSetsPart)) {
    return std::nullopt;
  }
  const std::string message =
      format("is to get the MIG layout {}, and no MIG manager is there to do it", layout);
  return LabelIs(node, names::kMigCapable, "false")
             ? Problem("MigNotManaged", NodeName(node), message + ": its GPUs can't be divided",
                       format("take the label off: kubectl label node {} {}-", node.name,
                              names::kMigConfig))
             : Problem("MigNotManaged", NodeName(node), message,
                       "set migManager.enabled=true, and repository, image and version of "
                       "migManager in the ClusterPolicy: it runs from NVIDIA's image only");
}

// The operator has written so, and takes nothing back by itself.
Finding GpusGone(const NodeFacts& node) {
  return Problem("GpusGone", NodeName(node),
                 "had GPUs, and node feature discovery names no NVIDIA GPU there any more",
                 format("if they were taken out: kubectl label node {} {}-; else look there with "
                        "`lspci -d 10de:`, and at the configuration of node feature discovery",
                        node.name, names::kGpuPresent));
}

void ExamineNode(const ClusterFacts& cluster, const NodeFacts& node,
                 std::vector<Finding>& findings) {
  if (LabelIs(node, names::kGpuPresent, "false") && !HasGpu(node)) {
    findings.push_back(GpusGone(node));
    return;
  }
  if (!HasGpu(node) || LabelIs(node, names::kDeployOperands, "false")) {
    return;
  }
  if (!node.ready) {
    findings.push_back(NotReady(cluster, node));
    return;
  }
  for (auto* examine : {MigChange, DriverUpgrade, LeftCordoned}) {
    if (std::optional<Finding> finding = examine(cluster, node)) {
      findings.push_back(*std::move(finding));
      return;
    }
  }
  if (IsChanging(node)) {
    return;
  }
  if (const std::string word = WordOf(cluster, node); !word.empty()) {
    if (std::optional<Finding> finding = Lacking(cluster, findings, node, word)) {
      findings.push_back(*std::move(finding));
    }
    return;
  }
  std::optional<Finding> finding = Paused(cluster, findings, node);
  if (!finding) {
    finding = Unhealthy(cluster, findings, node);
  }
  // What comes last is not missed at once.
  if (!finding && !IsNew(cluster, node.made_at) && !AwaitsVerdict(cluster, node)) {
    finding = Labelled(cluster, node);
    if (!finding) {
      finding = MigUnmanaged(cluster, node);
    }
  }
  if (finding) {
    findings.push_back(*std::move(finding));
  }
}

}  // namespace

bool HasGpu(const NodeFacts& node) {
  return LabelIs(node, names::kGpuPresent, "true") ||
         std::ranges::any_of(node.labels, [](const auto& label) {
           return label.second == "true" &&
                  policy::ReadPciLabel(label.first) == policy::PciLabel::kGpu;
         });
}

std::string PluginOffBy(const ClusterFacts& cluster, const NodeFacts& node) {
  const std::string label = DeployLabel(kDevicePlugin);
  const std::string value = ValueOf(node, label);
  if (!HasGpu(node)) {
    return "";
  }
  if (LabelIs(node, names::kDeployOperands, "false")) {
    return format("label {}=false", names::kDeployOperands);
  }
  if (!value.empty() && value != "true" && (PauseOf(node).empty() || IsPauseLeft(cluster, node))) {
    return format("label {}={}", label, value);
  }
  const auto policy = std::ranges::find_if(cluster.policies, [](const PolicyFacts& each) {
    return each.state != "ignored" && !each.offers_gpus;
  });
  return policy == cluster.policies.end()
             ? ""
             : format("devicePlugin.enabled=false of {}", policy->object);
}

bool IsPluginAskedFor(const ClusterFacts& cluster, const NodeFacts& node) {
  return IsAskedFor(cluster, &PolicyFacts::offers_gpus, node, kDevicePlugin);
}

bool IsChanging(const NodeFacts& node) { return IsMigChanging(node) || HasItsTurn(node); }

bool IsNew(const ClusterFacts& cluster, const std::string& made_at) {
  return made_at > Rfc3339(cluster.now - kNew);
}

bool IsInstalling(const ClusterFacts& cluster, const NodeFacts& node) {
  const auto begun = cluster.drivers_begun.find(node.name);
  return IsAboutDriversFiles(WordOf(cluster, node)) && DriverOf(cluster, node) != nullptr &&
         begun != cluster.drivers_begun.end() &&
         begun->second > Rfc3339(cluster.now - kDriverPatience);
}

bool IsUnsettled(const ClusterFacts& cluster, const NodeFacts& node) {
  const std::string validation = ValueOf(node, names::kGpuValidation);
  return !node.ready || IsChanging(node) || IsInstalling(cluster, node) ||
         (!validation.empty() && validation != names::kValidationReady) ||
         IsNew(cluster, node.made_at);
}

bool IsUnfinished(const ClusterFacts& cluster, const NodeFacts& node) {
  return IsNew(cluster, node.made_at) ||
         (HasGpu(node) && (IsUnsettled(cluster, node) || AwaitsVerdict(cluster, node)));
}

bool MayOfferYet(const ClusterFacts& cluster, const NodeFacts& node) {
  return HasGpu(node) &&
         (IsChanging(node) || (Sum(node.capacity) == 0 && IsUnfinished(cluster, node)));
}

void ExamineNodes(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  for (const NodeFacts& node : cluster.nodes) {
    ExamineNode(cluster, node, findings);
  }
}

std::string StageOf(const ClusterFacts& cluster, const NodeFacts& node) {
  const bool taken_in = IsTakenIn(node);
  const std::string validation = VerdictOf(cluster, node);
  const std::string mig = ValueOf(node, names::kMigConfigState);
  if (!node.ready) {
    return "node not ready";
  }
  if (LabelIs(node, names::kDeployOperands, "false")) {
    return "switched off";
  }
  if (IsUpgrading(node) || LabelIs(node, names::kDriverUpgradeState, "upgrade-failed")) {
    return "driver " + ValueOf(node, names::kDriverUpgradeState);
  }
  if (IsMigChanging(node) || mig == "failed") {
    return "MIG " + mig;
  }
  if (!validation.empty() && validation != names::kValidationReady) {
    return validation;
  }
  const bool offers = !taken_in || IsForMachines(node) || IsPluginAskedFor(cluster, node);
  if (Sum(node.capacity) == 0 && offers) {
    const bool driver = IsForMachines(node) || node.labels.contains(names::kCudaDriverVersionFull);
    return driver ? "device plugin" : "driver";
  }
  if (validation.empty() && (!taken_in || IsToBeValidated(cluster, node))) {
    return "validation";
  }
  if (ValueOf(node, names::kGpuProduct).empty() &&
      (!taken_in ||
       IsAskedFor(cluster, &PolicyFacts::labels_gpus, node, "gpu-feature-discovery"))) {
    return "labels";
  }
  return HasUnhealthy(cluster, node) ? "GPUs unhealthy" : "ready";
}

}  // namespace gantry::doctor
