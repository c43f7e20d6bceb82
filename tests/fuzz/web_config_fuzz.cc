// SPDX-License-Identifier: Apache-2.0
// A web configuration, which an administrator writes, and the Authorization of a request, which
// anybody sends. What is accepted could be served: TLS has a certificate and a key, no header
// breaks the response's lines.
#include <cstddef>
#include <cstdint>

#include "http/basic_auth.h"
#include "http/gzip.h"
#include "http/web_config.h"

namespace gantry::http {
namespace {

void Fuzz(std::string_view text) {
  const Result<WebConfig> config = ParseWebConfig(text, "/etc");
  if (config.has_value()) {
    for (const auto& [name, value] : config->headers) {
      CHECK(!name.empty() && !value.empty() && !value.contains('\n') && !value.contains('\r'));
    }
    for (const auto& [name, hash] : config->users) {
      CHECK(hash.size() == 60);
    }
    if (config->tls.has_value()) {
      CHECK(!config->tls->certificate.empty() && !config->tls->key.empty());
      CHECK(config->tls->min_version <= config->tls->max_version);
    }
  } else {
    CHECK(config.error().kind == ErrorKind::kInvalid && !config.error().message.empty());
  }
  const std::optional<Credentials> credentials = ReadBasicAuthorization(text);
  CHECK(!credentials.has_value() || !credentials->user.contains(':'));
  static_cast<void>(AcceptsGzip(text));
}

}  // namespace
}  // namespace gantry::http

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  gantry::http::Fuzz({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
