// SPDX-License-Identifier: Apache-2.0
// Where the credentials come from: a kubeconfig that somebody named, else the service account that
// the kubelet mounts into every pod, else the user's own kubeconfig. What a kubeconfig means is
// decided in kubeconfig.cc.
#include "kube/config.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/text.h"
#include "kube/kubeconfig.h"

namespace gantry::kube {
namespace {

// Kubernetes, "Accessing the API from a Pod".
constexpr char kServiceAccountDir[] = "/var/run/secrets/kubernetes.io/serviceaccount";

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<std::string> ReadText(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) {
    return FailErrno(format("read {}", path), errno == 0 ? EIO : errno);
  }
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

Result<Config> FromFile(const std::string& path) {
  TRY_ASSIGN(const std::string text, ReadText(path));
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash);
  Result<Config> config = ParseKubeconfig(text, directory, ReadText);
  if (!config.has_value()) {
    return std::unexpected(config.error().In(format("read kubeconfig {}", path)));
  }
  return config;
}

}  // namespace

std::string Config::ServerUrl() const {
  const bool v6 = host.find(':') != std::string::npos;
  return format("{}://{}{}{}:{}{}", tls ? "https" : "http", v6 ? "[" : "", host, v6 ? "]" : "",
                port, path_prefix);
}

Result<Config> LoadConfig(std::string_view path) {
  if (!path.empty()) {
    return FromFile(std::string(path));
  }
  const std::string listed = Environment("KUBECONFIG");
  if (!listed.empty()) {
    return FromFile(listed.substr(0, listed.find(':')));
  }
  const std::string host = Environment("KUBERNETES_SERVICE_HOST");
  if (!host.empty()) {
    return InClusterConfig(host, Environment("KUBERNETES_SERVICE_PORT"), kServiceAccountDir,
                           ReadText);
  }
  const std::string home = Environment("HOME");
  Result<Config> own = FromFile(home + "/.kube/config");
  if (!own.has_value() && own.error().kind == ErrorKind::kNotFound) {
    return Fail(ErrorKind::kNotFound,
                "find a cluster: no --kubeconfig, no $KUBECONFIG, not in a pod, no ~/.kube/config");
  }
  return own;
}

}  // namespace gantry::kube
