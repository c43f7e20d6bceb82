// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "operator/cluster_facts.h"
#include "operator/daemon_set_facts.h"
#include "operator/desired/operands.h"
#include "operator/driver_plan.h"
#include "policy/names.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {

// The state of one operand, and the reason.
struct OperandState {
  std::string name;
  std::string state;  // ready, notReady, disabled, unsupported
  std::string reason;
  std::string message;
  std::string image;
};

struct VerdictInput {
  const std::vector<DesiredOperand>* operands = nullptr;
  const std::map<std::string, DaemonSetFacts>* daemon_sets = nullptr;  // by name
  const ClusterFacts* cluster = nullptr;
  std::string kind = "ClusterPolicy";  // for messages; or GPUCluster
  std::vector<std::string> unsupported_fields;
  std::vector<std::string> overridden_fields;      // of the ClusterPolicy, by a GPUClusterPolicy
  std::vector<std::string> fields_in_vain;         // of a GPUClusterPolicy, beside NVIDIADrivers
  std::vector<std::string> monitors_that_cant_be;  // fields, as in desired/monitoring.h
  // The chart's values: unknown ones (each with the one probably meant), and known ones without
  // effect.
  std::vector<std::string> values_not_known;
  std::vector<std::string> values_not_followed;
  // Messages about CRDs in the cluster, from served_fields.h.
  std::vector<std::string> outdated_definitions;
  // A node that is not described yet may still be described, and may have GPUs.
  bool undescribed_awaited = false;
  // devicePlugin.config.name, if a ConfigMap of that name is missing.
  std::string missing_config;
  // Operand objects that could not be written: the error's message.
  std::string write_error;
  // By operand: why nodes have no driver.
  std::map<policy::OperandId, std::vector<std::string>> left_out;
  // GPU nodes with another container runtime than the operands are configured for.
  std::vector<std::string> other_runtimes;
  bool labelling = false;  // operand objects wait for the nodes to be labelled
  std::string ns;
  std::string kubelet_root = names::kKubeletRoot;  // hostPaths.kubeletRootDir
  bool node_features_ours = false;
  // The drivers' upgrades: the status' driverUpgrades (null: disabled), and the same in one line
  // (empty: no message).
  Json driver_upgrades;
  std::string driver_upgrades_summary;
  bool drivers_unfinished =
      false;  // of NVIDIADrivers: some node's upgrade waits, progresses or failed
};

// The verdict for the ClusterPolicy's status: ready only if everything that is requested and
// available was observed to work.
struct Verdict {
  std::string state;   // ready, notReady
  std::string reason;  // NVIDIA's: Reconciled, ReconcileFailed, OperandNotReady, NFDLabelsMissing,
                       // NoGPUNodes; and GPUsGone
  std::string message;
  std::vector<OperandState> operands;
  std::string partly;                         // fields of the spec without effect; empty: none
  std::vector<std::string> untolerated = {};  // nodes with a taint against its pods, with the taint
};
Verdict Judge(const VerdictInput& input);

// For a policy that can't be read because of this mistake.
Verdict JudgeInvalid(std::string_view mistake);
// For a GPUCluster that nothing is made of, because of what is missing or in its way.
Verdict JudgePrerequisite(std::string_view missing);

// The verdict for a NVIDIADriver's status: its state is ready, notReady or disabled; no operands.
// `write_error`: why its objects could not be written; empty: they were, or wait for the nodes'
// labels (`labelling`).
Verdict JudgeDriver(const DriverOutcome& driver,
                    const std::map<std::string, DaemonSetFacts>& daemon_sets,
                    const ClusterFacts& cluster, std::string_view write_error, bool labelling);

}  // namespace gantry::gpu_operator
