// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <set>
#include <stop_token>
#include <string>

#include "base/error.h"
#include "doctor/container_facts.h"
#include "kube/client.h"

namespace gantry::doctor {

// Reads the ends of logs of failed containers, a few of them: a kubelet that does not respond is
// not asked again.
class LogReader {
 public:
  // Its requests end when `stop` asks.
  LogReader(const kube::Client& client, std::stop_token stop);

  // Sets the end of what the container's failed run wrote, unless `asked`, which counts, is at its
  // limit. Blocks for some seconds at most. Error: logs may not be read (kDenied).
  Status Read(ContainerFacts& container, size_t& asked);

 private:
  const std::unique_ptr<kube::Client> client_;
  std::set<std::string> silent_;  // nodes whose kubelet did not give a log
};

}  // namespace gantry::doctor
