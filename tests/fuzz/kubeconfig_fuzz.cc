// SPDX-License-Identifier: Apache-2.0
// A kubeconfig, and what stands in one. Whatever the text is, it gives a server or says why not;
// the URL that a server comes to is read as that server again.
#include <cstddef>
#include <cstdint>

#include "base/base64.h"
#include "kube/kubeconfig.h"

namespace gantry::kube {
namespace {

void CheckUrl(const Config& config) {
  CHECK(!config.host.empty());
  Config again;
  CHECK(ParseServerUrl(config.ServerUrl(), again).has_value());
  CHECK(again.host == config.host && again.port == config.port && again.tls == config.tls);
  CHECK(again.path_prefix == config.path_prefix);
}

void Fuzz(std::string_view text) {
  const auto itself = [text](const std::string&) -> Result<std::string> {
    return std::string(text);
  };
  const auto run = [text](const CredentialProgram&) -> Result<std::string> {
    return std::string(text);
  };
  const Result<Config> config = ParseKubeconfig(
      {{.path = "/etc/kubernetes/admin.conf", .text = std::string(text)}}, "", itself, run);
  if (config.has_value()) {
    CheckUrl(*config);
  } else {
    CHECK(!config.error().message.empty());
  }
  Config server;
  if (ParseServerUrl(text, server).has_value()) {
    CheckUrl(server);
  }
  const Result<std::string> decoded = DecodeBase64(text);
  CHECK(!decoded.has_value() || decoded->size() <= text.size());
  const Result<Config> pod = InClusterConfig("10.0.0.1", std::string(text), "/token", itself);
  CHECK(!pod.has_value() || pod->port > 0);
}

}  // namespace
}  // namespace gantry::kube

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  gantry::kube::Fuzz({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
