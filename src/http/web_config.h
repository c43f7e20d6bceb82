// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace gantry::http {

enum class TlsVersion { k10, k11, k12, k13 };

// crypto/tls ClientAuthType, in its order.
enum class ClientAuth { kNone, kRequest, kRequireAny, kVerifyIfGiven, kRequireAndVerify };

// A PEM text, or the file that holds it, which wins; both are empty if there is none.
struct PemSource {
  std::string text;
  std::string file;
  [[nodiscard]] bool empty() const { return text.empty() && file.empty(); }
};

struct TlsSettings {
  PemSource certificate;
  PemSource key;
  PemSource client_authorities;  // empty: the system's certificate store
  ClientAuth client_auth = ClientAuth::kNone;
  // A client's certificate has one of these subject alternative names; empty: any.
  std::vector<std::string> client_allowed_sans;
  TlsVersion min_version = TlsVersion::k12;
  TlsVersion max_version = TlsVersion::k13;
  // OpenSSL's names, for TLS 1.2 and earlier; empty: OpenSSL's choice.
  std::vector<std::string> cipher_suites;
  std::vector<std::string> curves;  // OpenSSL's names; empty: OpenSSL's choice
  bool prefer_server_cipher_suites = true;
};

// What a server gets through --web-config-file or --web.config.file: prometheus/exporter-toolkit
// v0.11 to v0.14, docs/web-configuration.md.
struct WebConfig {
  std::optional<TlsSettings> tls;              // none: plain HTTP
  std::map<std::string, std::string> users;    // name -> bcrypt hash; empty: no password is asked
  std::map<std::string, std::string> headers;  // added to every response
  bool http2 = false;                          // asked for in so many words
};

// Relative file names are relative to `folder`, that of the file. kInvalid names the wrong field.
Result<WebConfig> ParseWebConfig(std::string_view text, std::string_view folder);

}  // namespace gantry::http
