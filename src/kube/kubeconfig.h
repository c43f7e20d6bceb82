// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kube/config.h"

namespace gantry::kube {

// Reads the files that a kubeconfig names (already made absolute).
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

struct KubeconfigFile {
  std::string path;
  std::string text;
};
// A context of merged kubeconfigs: of several entries of one name the first counts. If `context` is
// empty, the first current-context is used. File names are relative to the kubeconfig's folder.
// Runs a credential program. kInvalid names the wrong field, kUnsupported the kind of credential.
Result<Config> ParseKubeconfig(const std::vector<KubeconfigFile>& files, std::string_view context,
                               const ReadFile& read, const RunProgram& run);
// A pod's credentials: KUBERNETES_SERVICE_HOST and _PORT, and the service account's mounted
// directory with ca.crt, token and namespace. kNotFound names the file that is missing.
Result<Config> InClusterConfig(const std::string& host, const std::string& port,
                               const std::string& directory, const ReadFile& read);
// "https://host:port/prefix" into a config's host, port, tls and path_prefix.
Status ParseServerUrl(std::string_view url, Config& config);

}  // namespace gantry::kube
