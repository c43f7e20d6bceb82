// SPDX-License-Identifier: Apache-2.0
// Which labels does this node have, and how does the validator publish its verdict? Only the
// operator writes Nodes; a node's agent publishes in a NodeFeature object.
#include "operands/validator/cluster.h"

#include "agent/feature_publisher.h"
#include "agent/own_node.h"
#include "agent/pause.h"
#include "kube/client.h"
#include "kube/events.h"
#include "operands/validator/announce.h"
#include "operands/validator/site.h"
#include "policy/names.h"
#include "policy/node_feature.h"

namespace gantry::validator {
namespace {

agent::FeaturePublisher Publisher(const Flags& flags) {
  return agent::FeaturePublisher({.node = flags.node_name,
                                  .ns = flags.ns,
                                  .component = kProgram,
                                  .kubeconfig = flags.kubeconfig});
}

}  // namespace

Result<std::map<std::string, std::string>> NodeLabels(const Flags& flags) {
  std::map<std::string, std::string> labels;
  const auto read = [&](kube::Client& client) -> Result<bool> {
    TRY_ASSIGN(const Json node, client.Get(kube::kinds::kNode, {"", flags.node_name}));
    labels = agent::LabelsOf(node);
    return false;
  };
  TRY(Publisher(flags).Connected(read));
  return labels;
}

Status Publish(const Flags& flags, const std::string& reason, const std::string& message) {
  const agent::FeaturePublisher publisher = Publisher(flags);
  const auto form = [&](const Json* /*stored*/) {
    policy::NodeFeature wanted;
    wanted.labels = {{names::kGpuValidation, reason}};
    wanted.annotations = {{names::kValidationMessage, message}};
    return wanted;
  };
  const auto publish = [&](kube::Client& client) -> Result<bool> {
    TRY_ASSIGN(const bool written,
               publisher.Store(client, names::kValidationFeature + flags.node_name, form));
    const bool ready = reason == names::kValidationReady;
    if (written || !ready || (message != kAllWorks && message != kReadyForVms)) {
      const Json about = agent::NodeOfEvents(flags.node_name);
      kube::EventRecorder events(client, kProgram, flags.node_name);
      if (ready) {
        events.Normal(about, "GPUValidated", message);
      } else {
        events.Warning(about, reason, message);
      }
    }
    return written;
  };
  TRY(publisher.Connected(publish));
  return {};
}

}  // namespace gantry::validator
