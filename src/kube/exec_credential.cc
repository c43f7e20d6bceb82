// SPDX-License-Identifier: Apache-2.0
// What does a credential program get as input, and what does its output mean? No user can answer
// questions here, so the input says that it is not interactive. Its expirationTimestamp is ignored:
// the server refuses an expired credential, and then the program runs again.
#include "kube/exec_credential.h"

#include <openssl/evp.h>

#include "base/json.h"
#include "base/text.h"

namespace gantry::kube {
namespace {

std::string EncodeBase64(const std::string& text) {
  std::string encoded((text.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  encoded.resize(static_cast<size_t>(size));
  return encoded;
}

}  // namespace

std::string ExecInfo(std::string_view api_version, const Config* cluster) {
  Json info = {
      {"apiVersion", api_version}, {"kind", "ExecCredential"}, {"spec", {{"interactive", false}}}};
  if (cluster != nullptr) {
    Json& told = info["spec"]["cluster"];
    told["server"] = cluster->ServerUrl();
    if (!cluster->server_name.empty()) {
      told["tls-server-name"] = cluster->server_name;
    }
    if (cluster->insecure_skip_verify) {
      told["insecure-skip-tls-verify"] = true;
    }
    if (!cluster->ca_pem.empty()) {
      told["certificate-authority-data"] = EncodeBase64(cluster->ca_pem);
    }
  }
  return info.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<ExecCredential> ReadExecCredential(std::string_view text, std::string_view api_version) {
  if (api_version != "client.authentication.k8s.io/v1" &&
      api_version != "client.authentication.k8s.io/v1beta1") {
    return Fail(ErrorKind::kUnsupported, format("apiVersion: \"{}\" is not known", api_version));
  }
  const Result<Json> printed = ParseJson(text);
  if (!printed.has_value() || TextAt(*printed, "kind") != "ExecCredential" ||
      TextAt(*printed, "apiVersion") != api_version) {
    return Fail(ErrorKind::kInvalid,
                format("what the program prints is no ExecCredential of {}", api_version));
  }
  ExecCredential credential{.token = TextAt(*printed, "status.token"),
                            .certificate_pem = TextAt(*printed, "status.clientCertificateData"),
                            .key_pem = TextAt(*printed, "status.clientKeyData")};
  if (credential.certificate_pem.empty() != credential.key_pem.empty()) {
    return Fail(ErrorKind::kInvalid, "status: clientCertificateData and clientKeyData go together");
  }
  if (credential.token.empty() && credential.key_pem.empty()) {
    return Fail(ErrorKind::kInvalid, "status: neither a token nor a certificate");
  }
  return credential;
}

}  // namespace gantry::kube
