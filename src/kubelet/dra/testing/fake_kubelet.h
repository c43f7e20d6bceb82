// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "kubelet/dra/dra.h"

// The kubelet's calls to a driver (Kubernetes 1.36, pkg/kubelet/pluginmanager and cm/dra), each on
// a connection of its own. For tests. Each blocks until the driver answers.
namespace gantry::kubelet::dra {

struct DriverInfo {
  std::string type;
  std::string name;
  std::string endpoint;
  std::vector<std::string> versions;
};

Result<DriverInfo> AskInfo(const std::string& registration_socket);
// An empty error: the driver is registered.
Status TellRegistered(const std::string& registration_socket, const std::string& error);

// `version` is "v1" or "v1beta1".
Result<std::vector<PreparedDevice>> AskPrepare(const std::string& socket,
                                               const std::string& version, const Claim& claim);
Status AskUnprepare(const std::string& socket, const std::string& version, const Claim& claim);

// Any call; the response's bytes. kUnsupported: the driver has no such method.
Result<std::string> AskAny(const std::string& socket, const std::string& method,
                           const std::string& request);

}  // namespace gantry::kubelet::dra
