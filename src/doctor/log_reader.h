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

// Reads the ends of the logs of a few failed containers. It does not ask a kubelet again that did
// not respond.
class LogReader {
 public:
  // Its requests end when `stop` is requested.
  LogReader(const kube::Client& client, std::stop_token stop);

  // Sets the end of the failed run's log, unless the counter `asked` is at its limit. Blocks for
  // some seconds at most. Error: no right to read logs (kDenied).
  Status Read(ContainerFacts& container, size_t& asked);

 private:
  const std::unique_ptr<kube::Client> client_;
  std::set<std::string> silent_;  // nodes whose kubelet did not give a log
};

}  // namespace gantry::doctor
