// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace gantry::kube {

// How to reach one API server and as whom: what a kubeconfig context or a pod's service account
// comes to. Certificates and keys are PEM texts, read from their files already.
struct Config {
  std::string host;  // a name or an address, IPv6 without brackets
  uint16_t port = 443;
  bool tls = true;          // false only for http:// servers (tests, kubectl proxy)
  std::string path_prefix;  // "" or "/some/prefix" of a server URL behind a proxy
  std::string server_name;  // checked against the certificate; empty: host
  std::string ca_pem;       // empty: the system's certificate store
  bool insecure_skip_verify = false;
  std::string client_certificate_pem;
  std::string client_key_pem;
  std::string token;       // a fixed bearer token
  std::string token_file;  // a bearer token that is read again whenever the file changes
  std::string space;       // the namespace of the context or of the pod; "default" if none

  // "https://host:port/prefix", IPv6 in brackets.
  [[nodiscard]] std::string ServerUrl() const;
};

// The kubeconfig at the path; if that is empty, at $KUBECONFIG (the first entry of a list); if that
// is empty, the pod's service account (in-cluster: KUBERNETES_SERVICE_HOST and _PORT and
// /var/run/secrets/kubernetes.io/serviceaccount); at last ~/.kube/config. kNotFound when there is
// none of these; kInvalid names the wrong field; kUnsupported for credentials that need a program
// (users[].user.exec, auth-provider).
Result<Config> LoadConfig(std::string_view path = "");

}  // namespace gantry::kube
