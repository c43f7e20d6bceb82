// SPDX-License-Identifier: Apache-2.0
// What is wrong with a GPU node? Its own labels and conditions say most: the validator's verdict is
// the label nvidia.com/gpu.validation, whose words are the codes here. Labels bear no time, so what
// may be under way is judged by when its writer wrote last.
#include "operator/doctor/node_findings.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::doctor {
namespace {

// A MIG layout is changed within a minute, and clients are given ten to end.
constexpr std::chrono::minutes kMigPatience(15);
// An upgrade of a node waits for its turn and for jobs; the library gives up a drain after 5 min.
constexpr std::chrono::minutes kUpgradePatience(60);
// A node that joins needs its images first.
constexpr std::chrono::minutes kNew(3);
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

constexpr char kToolkitLog[] =
    "look at the container toolkit's log there: kubectl logs -A -l "
    "app=nvidia-container-toolkit-daemonset --prefix";
constexpr char kPluginLog[] =
    "look at the device plugin's log there: kubectl logs -A -l app=nvidia-device-plugin-daemonset "
    "--prefix";
constexpr char kNvidiaSmi[] = "run `nvidia-smi` on the node; its kernel log (NVRM, Xid) says more";

constexpr std::array kVerdicts = std::to_array<Verdict>({
    {"DriverMissing", "has a GPU on its PCI bus, and no driver was found on it",
     "install NVIDIA's driver on the node, or name a driver image in the ClusterPolicy"},
    {"DriverContainerNotReady", "its driver container has not said that it is ready",
     "look at the log of the driver's pod there: kubectl logs -A -l app=nvidia-driver-daemonset "
     "--prefix"},
    {"DriverNotInstalled", "its driver's container could not install the driver",
     "`kubectl describe node` has the reason in an event, and so has the log of the driver's pod "
     "there: kubectl logs -A -l app=nvidia-driver-daemonset --prefix"},
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
    {"NoGpuAllocatable", "has a GPU and a driver, and its kubelet offers no GPU", kPluginLog},
    {"KubeletDoesNotAnswer", "its kubelet's pod-resources socket does not answer",
     "look whether the kubelet runs on this node"},
    {"CudaHangs", "CUDA does not start on it", kNvidiaSmi},
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
  const bool tell = known->code == "DriverNotInstalled";
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

// A node that waits for its turn is no trouble while another one gets on.
bool AnotherGetsOn(const ClusterFacts& cluster, const NodeFacts& node) {
  return std::ranges::any_of(cluster.nodes, [&](const NodeFacts& other) {
    return other.name != node.name && HasItsTurn(other) &&
           !OlderThan(cluster, other, names::kDriverUpgradeState, kUpgradePatience);
  });
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
  if (IsUpgrading(node) && OlderThan(cluster, node, names::kDriverUpgradeState, kUpgradePatience) &&
      (state != "upgrade-required" || !AnotherGetsOn(cluster, node))) {
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

Finding NotReady(const NodeFacts& node) {
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
  return Problem(
      "NodeNotReady", NodeName(node),
      "has GPUs and is not ready" + (node.why_not_ready.empty() ? "" : ": " + node.why_not_ready),
      says("network not ready") ? "look at the network plugin's pod there, which has not "
                                  "configured the node (/etc/cni/net.d)"
                                : "look at the kubelet on that node");
}

// Whether a policy that is acted on asks for that operand on that node; without a policy: by its
// label alone.
bool IsAskedFor(const ClusterFacts& cluster, bool PolicyFacts::* enabled, const NodeFacts& node,
                const char* operand) {
  const bool off = std::ranges::any_of(cluster.policies, [enabled](const PolicyFacts& policy) {
    return policy.state != "ignored" && !(policy.*enabled);
  });
  return !off && LabelIs(node, std::string(names::kDeployPrefix) + operand, "true");
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
      [&node](const char* plugin) {
        return !ValueOf(node, std::string(names::kDeployPrefix) + plugin).empty();
      });
}

// Whether the validator's verdict is to stand on the node. Who could not look at the validator
// takes it for ours.
bool IsToBeValidated(const ClusterFacts& cluster, const NodeFacts& node) {
  const bool theirs = std::ranges::any_of(cluster.operands, [](const OperandFacts& operand) {
    return operand.name == "nvidia-operator-validator" && !operand.publishes;
  });
  return !theirs && LabelIs(node, names::kDeployValidator, "true");
}

std::optional<Finding> Offer(const ClusterFacts& cluster, const NodeFacts& node) {
  const long long capacity = Sum(node.capacity);
  const long long allocatable = Sum(node.allocatable);
  if (capacity == 0) {
    if (!IsAskedFor(cluster, &PolicyFacts::offers_gpus, node, "device-plugin")) {
      return std::nullopt;
    }
    const bool driver = node.labels.contains(names::kCudaDriverVersionFull) ||
                        LabelIs(node, names::kGpuValidation, names::kValidationReady);
    return Validated(node, driver ? "NoGpuAllocatable" : "DriverMissing");
  }
  if (allocatable < capacity) {
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
  const std::string product = ValueOf(node, names::kGpuProduct);
  if (product.ends_with("MIG-INVALID")) {
    return Problem("MigLayoutsDiffer", NodeName(node),
                   "its GPUs are split in different ways, which the MIG strategy `single` can't "
                   "offer",
                   "give all of its GPUs one layout, or set mig.strategy=mixed");
  }
  if (product.empty() &&
      IsAskedFor(cluster, &PolicyFacts::labels_gpus, node, "gpu-feature-discovery")) {
    return Problem("LabelsMissing", NodeName(node),
                   "offers GPUs, and lacks the labels that say which",
                   "look at the log of GPU feature discovery there: kubectl logs -A -l "
                   "app=gpu-feature-discovery --prefix");
  }
  return std::nullopt;
}

void ExamineNode(const ClusterFacts& cluster, const NodeFacts& node,
                 std::vector<Finding>& findings) {
  if (!HasGpu(node) || LabelIs(node, names::kDeployOperands, "false")) {
    return;
  }
  if (!node.ready) {
    findings.push_back(NotReady(node));
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
  const std::string validation = ValueOf(node, names::kGpuValidation);
  if (!validation.empty() && validation != names::kValidationReady) {
    findings.push_back(Validated(node, validation));
    return;
  }
  for (auto* examine : {Offer, Labelled}) {
    if (std::optional<Finding> finding = examine(cluster, node)) {
      findings.push_back(*std::move(finding));
      return;
    }
  }
}

}  // namespace

bool HasGpu(const NodeFacts& node) {
  return LabelIs(node, names::kGpuPresent, "true") || LabelIs(node, names::kPciNvidia, "true") ||
         LabelIs(node, names::kPciNvidia3d, "true") || LabelIs(node, names::kPciNvidiaVga, "true");
}

bool IsChanging(const NodeFacts& node) { return IsMigChanging(node) || HasItsTurn(node); }

bool IsUnsettled(const ClusterFacts& cluster, const NodeFacts& node) {
  const std::string validation = ValueOf(node, names::kGpuValidation);
  return !node.ready || IsChanging(node) ||
         (!validation.empty() && validation != names::kValidationReady) ||
         node.made_at > Rfc3339(cluster.now - kNew);
}

void ExamineNodes(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  for (const NodeFacts& node : cluster.nodes) {
    ExamineNode(cluster, node, findings);
  }
}

std::string StageOf(const ClusterFacts& cluster, const NodeFacts& node) {
  const bool taken_in = IsTakenIn(node);
  const std::string validation = ValueOf(node, names::kGpuValidation);
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
  const bool offers = !taken_in || IsForMachines(node) ||
                      IsAskedFor(cluster, &PolicyFacts::offers_gpus, node, "device-plugin");
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
  return Sum(node.allocatable) < Sum(node.capacity) ? "GPUs unhealthy" : "ready";
}

}  // namespace gantry::doctor
