// SPDX-License-Identifier: Apache-2.0
// How a server answers: with which certificate, to whom. What the web configuration of Prometheus'
// exporters says, in OpenSSL's names. An unknown field is an error, as it is there.
#include "http/web_config.h"

#include <yaml-cpp/yaml.h>

#include <functional>
#include <set>

#include "base/paths.h"
#include "base/text.h"

namespace gantry::http {
namespace {

using Node = YAML::Node;
using Take = std::function<Status(const Node& value, const std::string& path)>;

std::unexpected<Error> Wrong(const std::string& path, std::string_view why) {
  return Fail(ErrorKind::kInvalid, format("{}: {}", path, why));
}

// `path` is empty for the document itself.
Status EachEntry(const Node& map, const std::string& path,
                 const std::function<Status(const std::string& key, const Node& value)>& take) {
  if (map.IsNull()) {
    return {};
  }
  if (!map.IsMap()) {
    return Wrong(path.empty() ? "the file" : path, "not a map");
  }
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const Node& key = entry.first;
    if (!key.IsScalar()) {
      return Wrong(path.empty() ? "the file" : path, "a key is not a string");
    }
    const std::string& name = key.Scalar();
    if (!seen.insert(name).second) {
      return Wrong(path.empty() ? name : path + "." + name, "given twice");
    }
    TRY(take(name, entry.second));
  }
  return {};
}

Status EachField(const Node& map, const std::string& path,
                 const std::map<std::string_view, Take>& fields) {
  const std::string prefix = path.empty() ? "" : path + ".";
  return EachEntry(map, path, [&](const std::string& key, const Node& value) -> Status {
    const auto field = fields.find(key);
    return field == fields.end() ? Wrong(prefix + key, "unknown field")
                                 : field->second(value, prefix + key);
  });
}

Result<std::string> Text(const Node& value, const std::string& path) {
  if (value.IsNull()) {
    return std::string();
  }
  if (!value.IsScalar()) {
    return Wrong(path, "not a string");
  }
  return value.Scalar();
}

Take To(std::string& text) {
  return [&text](const Node& value, const std::string& path) -> Status {
    TRY_ASSIGN(text, Text(value, path));
    return {};
  };
}

Take To(bool& flag) {
  return [&flag](const Node& value, const std::string& path) -> Status {
    if (!value.IsScalar() || !YAML::convert<bool>::decode(value, flag)) {
      return Wrong(path, "not true or false");
    }
    return {};
  };
}

Status EachText(const Node& list, const std::string& path,
                const std::function<Status(const std::string& text)>& take) {
  if (list.IsNull()) {
    return {};
  }
  if (!list.IsSequence()) {
    return Wrong(path, "not a list");
  }
  for (const Node& value : list) {
    TRY_ASSIGN(const std::string text, Text(value, path));
    TRY(take(text));
  }
  return {};
}

// --- tls_server_config ----------------------------------------------------------------------

using Names = std::map<std::string_view, std::string_view>;

// crypto/tls CipherSuites(), and those that Go 1.22 took out of it. TLS 1.3's can't be chosen.
const Names& CipherSuites() {
  static const Names names = {
      {"TLS_AES_128_GCM_SHA256", ""},
      {"TLS_AES_256_GCM_SHA384", ""},
      {"TLS_CHACHA20_POLY1305_SHA256", ""},
      {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA"},
      {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA"},
      {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA"},
      {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA"},
      {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"},
      {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"},
      {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"},
      {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"},
      {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"},
      {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"},
      {"TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"},
      {"TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA"},
      {"TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"},
      {"TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384"},
  };
  return names;
}

const Names& Curves() {
  static const Names names = {
      {"CurveP256", "P-256"}, {"CurveP384", "P-384"}, {"CurveP521", "P-521"}, {"X25519", "X25519"}};
  return names;
}

// The names of a list in OpenSSL's spelling.
Take To(std::vector<std::string>& chosen, const Names& names) {
  return [&chosen, &names](const Node& list, const std::string& path) {
    return EachText(list, path, [&](const std::string& text) -> Status {
      const auto name = names.find(text);
      if (name == names.end()) {
        return Wrong(path, format("\"{}\" is not known", text));
      }
      chosen.emplace_back(name->second);
      return {};
    });
  };
}

Take To(TlsVersion& version) {
  return [&version](const Node& value, const std::string& path) -> Status {
    static const std::map<std::string_view, TlsVersion> versions = {{"TLS10", TlsVersion::k10},
                                                                    {"TLS11", TlsVersion::k11},
                                                                    {"TLS12", TlsVersion::k12},
                                                                    {"TLS13", TlsVersion::k13}};
    TRY_ASSIGN(const std::string text, Text(value, path));
    const auto found = versions.find(text);
    if (found == versions.end()) {
      return Wrong(path, format("\"{}\" is not TLS10, TLS11, TLS12 or TLS13", text));
    }
    version = found->second;
    return {};
  };
}

Result<ClientAuth> ReadClientAuth(const std::string& text) {
  static const std::map<std::string_view, ClientAuth> types = {
      {"", ClientAuth::kNone},
      {"NoClientCert", ClientAuth::kNone},
      {"RequestClientCert", ClientAuth::kRequest},
      {"RequireAnyClientCert", ClientAuth::kRequireAny},
      {"RequireClientCert", ClientAuth::kRequireAny},  // its name in earlier versions
      {"VerifyClientCertIfGiven", ClientAuth::kVerifyIfGiven},
      {"RequireAndVerifyClientCert", ClientAuth::kRequireAndVerify}};
  const auto found = types.find(text);
  if (found == types.end()) {
    return Wrong("tls_server_config.client_auth_type",
                 format("\"{}\" is not NoClientCert, RequestClientCert, RequireAnyClientCert, "
                        "VerifyClientCertIfGiven or RequireAndVerifyClientCert",
                        text));
  }
  return found->second;
}

// The fields that don't go together.
Status CheckTls(const TlsSettings& tls) {
  const std::string section = "tls_server_config.";
  if (tls.certificate.empty()) {
    return Wrong(section + "cert_file", "missing");
  }
  if (tls.key.empty()) {
    return Wrong(section + "key_file", "missing");
  }
  if (tls.min_version > tls.max_version) {
    return Wrong(section + "min_version", "later than max_version");
  }
  if (!tls.client_authorities.empty() && tls.client_auth == ClientAuth::kNone) {
    return Wrong(section + "client_ca_file", "no effect without client_auth_type");
  }
  if (!tls.client_allowed_sans.empty() && tls.client_auth != ClientAuth::kRequireAny &&
      tls.client_auth != ClientAuth::kRequireAndVerify) {
    return Wrong(section + "client_allowed_sans",
                 "client_auth_type is not RequireAnyClientCert or RequireAndVerifyClientCert");
  }
  return {};
}

// A list of TLS 1.3's cipher suites alone leaves none for an earlier version.
void ChooseCipherSuites(TlsSettings& tls) {
  const bool chosen = !tls.cipher_suites.empty();
  std::erase(tls.cipher_suites, "");
  if (chosen && tls.cipher_suites.empty()) {
    tls.min_version = TlsVersion::k13;
  }
}

Result<std::optional<TlsSettings>> ReadTls(const Node& node, const std::string& path,
                                           std::string_view folder) {
  TlsSettings tls;
  std::string client_auth;
  const Take sans = [&tls](const Node& list, const std::string& at) {
    return EachText(list, at, [&tls](const std::string& text) -> Status {
      tls.client_allowed_sans.push_back(text);
      return {};
    });
  };
  TRY(EachField(node, path,
                {{"cert", To(tls.certificate.text)},
                 {"key", To(tls.key.text)},
                 {"client_ca", To(tls.client_authorities.text)},
                 {"cert_file", To(tls.certificate.file)},
                 {"key_file", To(tls.key.file)},
                 {"client_ca_file", To(tls.client_authorities.file)},
                 {"client_auth_type", To(client_auth)},
                 {"client_allowed_sans", sans},
                 {"min_version", To(tls.min_version)},
                 {"max_version", To(tls.max_version)},
                 {"cipher_suites", To(tls.cipher_suites, CipherSuites())},
                 {"curve_preferences", To(tls.curves, Curves())},
                 {"prefer_server_cipher_suites", To(tls.prefer_server_cipher_suites)}}));
  // Without any of these the others have no effect upstream (TLSConfig.IsEnabled).
  if (tls.certificate.empty() && tls.key.empty() && tls.client_authorities.empty() &&
      client_auth.empty()) {
    return std::nullopt;
  }
  TRY_ASSIGN(tls.client_auth, ReadClientAuth(client_auth));
  ChooseCipherSuites(tls);
  TRY(CheckTls(tls));
  for (PemSource* source : {&tls.certificate, &tls.key, &tls.client_authorities}) {
    if (!source->file.empty() && !source->file.starts_with('/')) {
      source->file = JoinPath(folder, source->file);
    }
  }
  return tls;
}

// --- http_server_config, basic_auth_users ------------------------------------------------------

// Which headers may be set, and to what (web/handler.go, extraHTTPHeaders).
Status ReadHeader(const std::string& name, const std::string& value, const std::string& path) {
  static const std::map<std::string_view, std::set<std::string_view>> known = {
      {"Strict-Transport-Security", {}},
      {"X-Content-Type-Options", {"nosniff"}},
      {"X-Frame-Options", {"deny", "sameorigin"}},
      {"X-XSS-Protection", {}},
      {"Content-Security-Policy", {}}};
  const auto header = known.find(name);
  if (header == known.end()) {
    return Wrong(path, "this header can't be set");
  }
  if (!header->second.empty() && !value.empty() && !header->second.contains(value)) {
    return Wrong(path, format("\"{}\" is not a value of this header", value));
  }
  for (const char c : value) {
    if (static_cast<unsigned char>(c) < ' ' && c != '\t') {
      return Wrong(path, "a control character in a header");
    }
  }
  return {};
}

Status ReadHttp(const Node& node, const std::string& path, WebConfig& config) {
  const Take headers = [&config](const Node& map, const std::string& at) {
    return EachEntry(map, at, [&](const std::string& name, const Node& node_of) -> Status {
      TRY_ASSIGN(const std::string value, Text(node_of, at + "." + name));
      TRY(ReadHeader(name, value, at + "." + name));
      if (!value.empty()) {
        config.headers[name] = value;
      }
      return {};
    });
  };
  return EachField(node, path, {{"http2", To(config.http2)}, {"headers", headers}});
}

// "$2y$10$" and 53 characters, of which the first 22 are the salt.
bool IsBcrypt(std::string_view hash) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (hash.size() != 60 || !hash.starts_with("$2") ||
      std::string_view("abxy").find(hash[2]) == std::string_view::npos || hash[3] != '$' ||
      !is_digit(hash[4]) || !is_digit(hash[5]) || hash[6] != '$') {
    return false;
  }
  const int cost = (hash[4] - '0') * 10 + (hash[5] - '0');
  const auto is_letter = [&](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '/';
  };
  return cost >= 4 && cost <= 31 && std::ranges::all_of(hash.substr(7), is_letter);
}

Status ReadUsers(const Node& node, const std::string& path, WebConfig& config) {
  return EachEntry(node, path, [&](const std::string& name, const Node& value) -> Status {
    TRY_ASSIGN(const std::string hash, Text(value, path + "." + name));
    if (!IsBcrypt(hash)) {
      return Wrong(path + "." + name, "not a bcrypt hash");
    }
    config.users[name] = hash;
    return {};
  });
}

}  // namespace

Result<WebConfig> ParseWebConfig(std::string_view text, std::string_view folder) {
  try {
    WebConfig config;
    const Take tls = [&](const Node& node, const std::string& path) -> Status {
      TRY_ASSIGN(config.tls, ReadTls(node, path, folder));
      return {};
    };
    const Take http = [&](const Node& node, const std::string& path) {
      return ReadHttp(node, path, config);
    };
    const Take users = [&](const Node& node, const std::string& path) {
      return ReadUsers(node, path, config);
    };
    TRY(EachField(
        YAML::Load(std::string(text)), "",
        {{"tls_server_config", tls}, {"http_server_config", http}, {"basic_auth_users", users}}));
    return config;
  } catch (const YAML::Exception& e) {
    return Fail(ErrorKind::kInvalid, e.what());
  }
}

}  // namespace gantry::http
