// SPDX-License-Identifier: Apache-2.0
// What does the cluster know of this node, and what is it told? The operator alone writes Nodes; an
// agent of a node says what it found in a NodeFeature object.
#include "operands/validator/cluster.h"

#include "agent/own_node.h"
#include "kube/client.h"
#include "kube/ensure.h"
#include "kube/events.h"
#include "operands/validator/announce.h"
#include "operands/validator/site.h"
#include "policy/kinds.h"
#include "policy/names.h"
#include "policy/node_feature.h"

namespace gantry::validator {
namespace {

Result<std::unique_ptr<kube::Client>> Connect(const Flags& flags) {
  TRY_ASSIGN(kube::Config config, kube::LoadConfig(flags.kubeconfig));
  return kube::Client::Create(
      std::move(config),
      {.component = kProgram, .field_manager = names::kFieldManager, .max_idle_connections = 1});
}

}  // namespace

Result<std::map<std::string, std::string>> NodeLabels(const Flags& flags) {
  TRY_ASSIGN(const auto client, Connect(flags));
  TRY_ASSIGN(const Json node, client->Get(kube::kinds::kNode, {"", flags.node_name}));
  std::map<std::string, std::string> labels;
  if (const Json* found = At(node, "metadata.labels"); found != nullptr) {
    for (const auto& [key, value] : found->items()) {
      labels[key] = value.is_string() ? value.get<std::string>() : "";
    }
  }
  return labels;
}

Status Publish(const Flags& flags, const std::string& reason, const std::string& message) {
  TRY_ASSIGN(const auto client, Connect(flags));
  const kube::Key key{flags.space, names::kValidationFeature + flags.node_name};
  const auto form = [&](const Json* stored) {
    return policy::NodeFeatureObject({.name = key.name,
                                      .space = key.space,
                                      .node = flags.node_name,
                                      .worker_version = "",
                                      .labels = {{names::kGpuValidation, reason}},
                                      .annotations = {{names::kValidationMessage, message}}},
                                     stored);
  };
  TRY_ASSIGN(const bool written, kube::Ensure(*client, policy::kNodeFeature, key, form));
  const bool ready = reason == names::kValidationReady;
  if (written || !ready || message != kAllWorks) {
    const Json about = agent::NodeOfEvents(flags.node_name);
    kube::EventRecorder events(*client, kProgram, flags.node_name);
    if (ready) {
      events.Normal(about, "GPUValidated", message);
    } else {
      events.Warning(about, reason, message);
    }
  }
  return {};
}

}  // namespace gantry::validator
