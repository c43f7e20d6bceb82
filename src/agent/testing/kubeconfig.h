// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/text.h"
#include "kube/testing/fake_server.h"

namespace gantry::agent {

// A kubeconfig for the server; the namespace of its context is "of-context".
inline std::string KubeconfigOf(const kube::FakeServer& server) {
  return format(
      "clusters: [{{name: c, cluster: {{server: '{}'}}}}]\n"
      "contexts: [{{name: x, context: {{cluster: c, namespace: of-context}}}}]\n"
      "current-context: x\n",
      server.config().ServerUrl());
}

}  // namespace gantry::agent
