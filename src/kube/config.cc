// SPDX-License-Identifier: Apache-2.0
// Where do the credentials come from? From the kubeconfig given by flag or variable, else the
// service account that the kubelet mounts into every pod, else the user's own kubeconfig.
// kubeconfig.cc interprets it.
#include "kube/config.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/environment.h"
#include "base/text.h"
#include "kube/kubeconfig.h"

namespace gantry::kube {
namespace {

// Kubernetes, "Accessing the API from a Pod".
constexpr char kServiceAccountDir[] = "/var/run/secrets/kubernetes.io/serviceaccount";

Result<std::string> ReadText(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) {
    return FailErrno(format("read {}", path), errno == 0 ? EIO : errno);
  }
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

// Those files that exist; kNotFound if none does.
Result<Config> FromFiles(const std::vector<std::string>& paths, std::string_view context,
                         const RunProgram& run) {
  std::vector<KubeconfigFile> files;
  for (const std::string& path : paths) {
    if (path.empty()) {
      continue;
    }
    Result<std::string> text = ReadText(path);
    if (text.has_value()) {
      files.push_back({.path = path, .text = *std::move(text)});
    } else if (text.error().kind != ErrorKind::kNotFound) {
      return std::unexpected(text.error());
    }
  }
  const std::string words = format("read kubeconfig {}", Join(paths, ":"));
  if (files.empty()) {
    return Fail(ErrorKind::kNotFound, format("{}: no such file", words));
  }
  Result<Config> config = ParseKubeconfig(files, context, ReadText, run);
  if (!config.has_value()) {
    return std::unexpected(config.error().In(words));
  }
  return config;
}

}  // namespace

std::string Config::HostPort() const {
  const bool v6 = host.find(':') != std::string::npos;
  return format("{}{}{}:{}", v6 ? "[" : "", host, v6 ? "]" : "", port);
}

std::string Config::ServerUrl() const {
  return format("{}://{}{}", tls ? "https" : "http", HostPort(), path_prefix);
}

Result<Config> LoadConfig(std::string_view path, std::string_view context, const RunProgram& run) {
  if (!path.empty()) {
    return FromFiles({std::string(path)}, context, run);
  }
  const std::string listed = EnvironmentOr("KUBECONFIG", "");
  if (!listed.empty()) {
    return FromFiles(Split(listed, ':'), context, run);
  }
  const std::string host = EnvironmentOr("KUBERNETES_SERVICE_HOST", "");
  if (!host.empty() && context.empty()) {
    return InClusterConfig(host, EnvironmentOr("KUBERNETES_SERVICE_PORT", ""), kServiceAccountDir,
                           ReadText);
  }
  Result<Config> own = FromFiles({EnvironmentOr("HOME", "") + "/.kube/config"}, context, run);
  if (!own.has_value() && own.error().kind == ErrorKind::kNotFound) {
    return Fail(ErrorKind::kNotFound,
                "find a cluster: no --kubeconfig, no $KUBECONFIG, not in a pod, no ~/.kube/config");
  }
  return own;
}

}  // namespace gantry::kube
