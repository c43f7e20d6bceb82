// SPDX-License-Identifier: Apache-2.0
// How does an agent publish its findings to the cluster? In an object that outlives its pod, so
// that neither an upgrade nor a crash removes a label. If possible in a child process, so that a
// program that sleeps most of the time holds no TLS.
#include "agent/feature_publisher.h"

#include <chrono>
#include <utility>

#include "kube/config.h"
#include "kube/ensure.h"
#include "policy/kinds.h"
#include "policy/names.h"

namespace gantry::agent {
namespace {

// The limit for all requests of one publication.
constexpr std::chrono::seconds kPublishing(120);

}  // namespace

Result<bool> FeaturePublisher::Connected(const Work& work) const {
  TRY_ASSIGN(kube::Config config, kube::LoadConfig(options_.kubeconfig));
  TRY_ASSIGN(const auto client,
             kube::Client::Create(std::move(config), {.component = options_.component,
                                                      .field_manager = names::kFieldManager,
                                                      .max_idle_connections = 1}));
  return work(*client);
}

Result<bool> FeaturePublisher::ConnectedInChild(const Work& work, int stop_fd) {
  const auto publish = [&]() -> Result<std::string> {
    TRY_ASSIGN(const bool wrote, Connected(work));
    return wrote ? "written" : "";
  };
  TRY_ASSIGN(const std::string written, child_.Run(publish, kPublishing, stop_fd));
  return !written.empty();
}

Result<bool> FeaturePublisher::Store(kube::Client& client, const std::string& name,
                                     const Form& form) const {
  const kube::Key key{options_.ns.empty() ? client.config().ns : options_.ns, name};
  return kube::Ensure(client, policy::kNodeFeature, key, [&](const Json* stored) {
    policy::NodeFeature wanted = form(stored);
    wanted.name = key.name;
    wanted.ns = key.ns;
    wanted.node = options_.node;
    return policy::NodeFeatureObject(wanted, stored);
  });
}

}  // namespace gantry::agent
