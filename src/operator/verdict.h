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

// What one operand's state is, and why.
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
  std::vector<std::string> unsupported_fields;
  std::vector<std::string> overridden_fields;      // of the ClusterPolicy, by a GPUClusterPolicy
  std::vector<std::string> fields_in_vain;         // of a GPUClusterPolicy, beside NVIDIADrivers
  std::vector<std::string> monitors_that_cant_be;  // fields, as desired/monitoring.h has them
  // Of the chart: not known (each with what was probably meant), and known and not followed.
  std::vector<std::string> values_not_known;
  std::vector<std::string> values_not_followed;
  // What is to be said of definitions in the cluster, as served_fields.h has it.
  std::vector<std::string> outdated_definitions;
  // A node that node feature discovery has not described may still be, and may have GPUs.
  bool undescribed_awaited = false;
  // devicePlugin.config.name, if a ConfigMap of that name is missing.
  std::string missing_config;
  // Operand objects that could not be written: the error's message.
  std::string write_error;
  // By operand: why nodes are left without a driver.
  std::map<policy::OperandId, std::vector<std::string>> left_out;
  // GPU nodes with another container runtime than operands are set up for.
  std::vector<std::string> other_runtimes;
  bool labelling = false;  // operand objects wait for the nodes to be labelled
  std::string ns;
  std::string kubelet_root = names::kKubeletRoot;  // hostPaths.kubeletRootDir
  bool node_features_ours = false;
  // The drivers' upgrades: the status' driverUpgrades (null: they are off), and the same in one
  // line (empty: nothing is to be said).
  Json driver_upgrades;
  std::string driver_upgrades_summary;
  bool drivers_unfinished =
      false;  // of NVIDIADrivers: some node's upgrade waits, goes on or failed
};

// What the ClusterPolicy's status says: what is found to be true, and ready only if everything that
// is asked for and available is seen to work.
struct Verdict {
  std::string state;   // ready, notReady
  std::string reason;  // NVIDIA's: Reconciled, ReconcileFailed, OperandNotReady, NFDLabelsMissing,
                       // NoGPUNodes; and GPUsGone
  std::string message;
  std::vector<OperandState> operands;
  std::string partly;                         // what of the spec is not followed; empty: all is
  std::vector<std::string> untolerated = {};  // nodes that a taint keeps its pods off, with that
};
Verdict Judge(const VerdictInput& input);

// For a policy that can't be read, because of this mistake.
Verdict JudgeInvalid(std::string_view mistake);

// What a NVIDIADriver's status says: its state is ready, notReady or disabled; no operands.
// `write_error`: why its objects could not be written; empty: they were, or wait for the nodes to
// be labelled (`labelling`).
Verdict JudgeDriver(const DriverOutcome& driver,
                    const std::map<std::string, DaemonSetFacts>& daemon_sets,
                    const ClusterFacts& cluster, std::string_view write_error, bool labelling);

}  // namespace gantry::gpu_operator
