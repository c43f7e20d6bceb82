// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "base/error.h"
#include "kube/client.h"

namespace CLI {
class App;
}  // namespace CLI

namespace gantry::doctor {

// The cluster that the user names.
struct ClusterFlags {
  std::string kubeconfig;
  std::string context;
};
// Adds --kubeconfig and --context; the flags outlive the app.
void AddClusterFlags(CLI::App& app, ClusterFlags& flags);

// Blocks while a kubeconfig's credential program runs, a minute at most; errors as
// kube::LoadConfig's. Makes no request to the cluster yet. A stop ends the client's calls.
Result<std::unique_ptr<kube::Client>> Connect(const ClusterFlags& flags, std::string component,
                                              std::stop_token stop = {});

}  // namespace gantry::doctor
