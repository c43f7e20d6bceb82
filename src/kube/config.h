// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace gantry::kube {

// How to reach one API server and as whom: made from a kubeconfig context or a pod's service
// account. Certificates and keys are PEM, already read from their files.
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
  std::string token;  // a fixed bearer token
  // A file with a bearer token, read again when it changes; while it can't be read, `token` is
  // used.
  std::string token_file;
  // Returns another token after the server refused `token`; blocks. Empty: there is no other.
  std::function<Result<std::string>()> renew_token = {};
  std::string ns;  // the namespace of the context or of the pod; "default" if none

  // "host:port", IPv6 in brackets.
  [[nodiscard]] std::string HostPort() const;
  // "https://host:port/prefix".
  [[nodiscard]] std::string ServerUrl() const;
};

// A program that prints credentials ("exec" in a kubeconfig).
struct CredentialProgram {
  std::vector<std::string> words;        // its name or path, then its arguments
  std::vector<std::string> environment;  // NAME=VALUE, besides the process' own
};
// Runs it to its end and returns its output. An error names the program.
using RunProgram = std::function<Result<std::string>(const CredentialProgram& program)>;

// The kubeconfig at the path; if that is empty, those at $KUBECONFIG (a list, merged as kubectl
// does); if that is empty, the pod's service account (in-cluster: KUBERNETES_SERVICE_HOST and _PORT
// and /var/run/secrets/kubernetes.io/serviceaccount), unless `context` is set; last ~/.kube/config.
// An empty context is the kubeconfig's current one. Blocks while a credential program runs.
//
// kNotFound if none of these exists; kInvalid names the wrong field; kUnsupported: auth-provider,
// username, as, and a credential program without `run`.
Result<Config> LoadConfig(std::string_view path = "", std::string_view context = "",
                          const RunProgram& run = {});

}  // namespace gantry::kube
