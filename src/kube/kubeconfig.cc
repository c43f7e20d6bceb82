// SPDX-License-Identifier: Apache-2.0
// Which server, as whom: a kubeconfig (client-go api/v1 Config) reduced to its current context.
// A field that holds something inline (…-data, token) wins over the one that names a file, as
// kubectl has it.
#include "kube/kubeconfig.h"

#include <yaml-cpp/yaml.h>

#include "base/text.h"

namespace gantry::kube {
namespace {

std::string TextOf(const YAML::Node& node, const char* field) {
  const YAML::Node value = node[field];
  return value && value.IsScalar() ? value.Scalar() : "";
}

// The entry of a list whose "name" is that, under its field.
Result<YAML::Node> Entry(const YAML::Node& root, const char* list, const char* field,
                         const std::string& name) {
  const YAML::Node entries = root[list];
  if (entries && entries.IsSequence()) {
    for (const YAML::Node& entry : entries) {
      if (entry.IsMap() && TextOf(entry, "name") == name && entry[field] && entry[field].IsMap()) {
        return entry[field];
      }
    }
  }
  return Fail(ErrorKind::kInvalid, format("{}: none is named \"{}\"", list, name));
}

// What stands inline in base 64, or in a file.
Result<std::string> Contents(const YAML::Node& node, const std::string& field,
                             const std::function<std::string(const std::string&)>& absolute,
                             const ReadFile& read) {
  const std::string inline_text = TextOf(node, (field + "-data").c_str());
  if (!inline_text.empty()) {
    Result<std::string> decoded = DecodeBase64(inline_text);
    if (!decoded.has_value()) {
      return std::unexpected(decoded.error().In(field + "-data"));
    }
    return decoded;
  }
  const std::string file = TextOf(node, field.c_str());
  if (file.empty()) {
    return std::string();
  }
  Result<std::string> text = read(absolute(file));
  if (!text.has_value()) {
    return Fail(ErrorKind::kInvalid, format("{}: {}", field, text.error().message));
  }
  return text;
}

Result<Config> FromNodes(const YAML::Node& root, std::string_view directory, const ReadFile& read) {
  if (!root.IsMap()) {
    return Fail(ErrorKind::kInvalid, "not a map of clusters, users and contexts");
  }
  const auto absolute = [directory](const std::string& file) {
    return file.starts_with('/') ? file : format("{}/{}", directory, file);
  };
  const std::string current = TextOf(root, "current-context");
  if (current.empty()) {
    return Fail(ErrorKind::kInvalid, "current-context: empty");
  }
  TRY_ASSIGN(const YAML::Node context, Entry(root, "contexts", "context", current));
  TRY_ASSIGN(const YAML::Node cluster,
             Entry(root, "clusters", "cluster", TextOf(context, "cluster")));
  Config config;
  config.space = TextOf(context, "namespace");
  TRY(ParseServerUrl(TextOf(cluster, "server"), config));
  if (!TextOf(cluster, "proxy-url").empty()) {
    return Fail(ErrorKind::kUnsupported, "clusters[].cluster.proxy-url: not supported");
  }
  config.server_name = TextOf(cluster, "tls-server-name");
  const std::string insecure = TextOf(cluster, "insecure-skip-tls-verify");
  if (!insecure.empty()) {
    const Result<bool> parsed = ParseBool(insecure);
    if (!parsed.has_value()) {
      return std::unexpected(parsed.error().In("insecure-skip-tls-verify"));
    }
    config.insecure_skip_verify = *parsed;
  }
  TRY_ASSIGN(config.ca_pem, Contents(cluster, "certificate-authority", absolute, read));

  const std::string user_name = TextOf(context, "user");
  if (user_name.empty()) {
    return config;
  }
  TRY_ASSIGN(const YAML::Node user, Entry(root, "users", "user", user_name));
  for (const char* field : {"exec", "auth-provider", "username", "as"}) {
    if (user[field]) {
      return Fail(ErrorKind::kUnsupported,
                  format("users[].user.{} of \"{}\": not supported; use a certificate, token or "
                         "tokenFile",
                         field, user_name));
    }
  }
  TRY_ASSIGN(config.client_certificate_pem, Contents(user, "client-certificate", absolute, read));
  TRY_ASSIGN(config.client_key_pem, Contents(user, "client-key", absolute, read));
  if (config.client_certificate_pem.empty() != config.client_key_pem.empty()) {
    return Fail(
        ErrorKind::kInvalid,
        format("users[].user of \"{}\": client-certificate and client-key go together", user_name));
  }
  config.token = TextOf(user, "token");
  const std::string token_file = TextOf(user, "tokenFile");
  if (config.token.empty() && !token_file.empty()) {
    config.token_file = absolute(token_file);
  }
  return config;
}

}  // namespace

Result<Config> ParseKubeconfig(std::string_view text, std::string_view directory,
                               const ReadFile& read) {
  try {
    TRY_ASSIGN(Config config, FromNodes(YAML::Load(std::string(text)), directory, read));
    if (config.space.empty()) {
      config.space = "default";
    }
    return config;
  } catch (const YAML::Exception& e) {
    return Fail(ErrorKind::kInvalid, e.what());
  }
}

Result<Config> InClusterConfig(const std::string& host, const std::string& port,
                               const std::string& directory, const ReadFile& read) {
  Config config;
  config.host = host;
  const Result<long long> number = ParseInt(port);
  if (!number.has_value() || *number < 1 || *number > 65535) {
    return Fail(ErrorKind::kInvalid, format("KUBERNETES_SERVICE_PORT: \"{}\" is no port", port));
  }
  config.port = static_cast<uint16_t>(*number);
  TRY_ASSIGN(config.ca_pem, read(directory + "/ca.crt"));
  // The token is read by whoever sends it: it changes.
  config.token_file = directory + "/token";
  config.space = Trim(read(directory + "/namespace").value_or("default"));
  return config;
}

Status ParseServerUrl(std::string_view url, Config& config) {
  const auto wrong = [url](std::string_view why) {
    return Fail(ErrorKind::kInvalid, format("server: \"{}\": {}", url, why));
  };
  std::string_view rest = url;
  if (rest.starts_with("https://")) {
    config.tls = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    config.tls = false;
    rest.remove_prefix(7);
  } else {
    return wrong("does not begin with https:// or http://");
  }
  const size_t slash = std::min(rest.find('/'), rest.size());
  config.path_prefix = rest.substr(slash);
  while (config.path_prefix.ends_with('/')) {
    config.path_prefix.pop_back();
  }
  std::string_view authority = rest.substr(0, slash);
  std::string_view port;
  if (authority.starts_with('[')) {
    const size_t close = authority.find(']');
    if (close == std::string_view::npos) {
      return wrong("[ without ]");
    }
    port = authority.substr(close + 1);
    authority = authority.substr(1, close - 1);
  } else {
    const size_t colon = std::min(authority.find(':'), authority.size());
    port = authority.substr(colon);
    authority = authority.substr(0, colon);
  }
  if (authority.empty()) {
    return wrong("no host");
  }
  config.host = authority;
  config.port = config.tls ? 443 : 80;
  if (!port.empty()) {
    const Result<long long> number = ParseInt(port.substr(1));
    if (port.front() != ':' || !number.has_value() || *number < 1 || *number > 65535) {
      return wrong("bad port");
    }
    config.port = static_cast<uint16_t>(*number);
  }
  return {};
}

Result<std::string> DecodeBase64(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size() / 4 * 3);
  unsigned bits = 0;
  int count = 0;
  int padding = 0;
  for (const char c : text) {
    unsigned value = 0;
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') {
      continue;
    }
    if (c == '=') {
      ++padding;
      continue;
    }
    if (c >= 'A' && c <= 'Z') {
      value = static_cast<unsigned>(c - 'A');
    } else if (c >= 'a' && c <= 'z') {
      value = static_cast<unsigned>(c - 'a') + 26;
    } else if (c >= '0' && c <= '9') {
      value = static_cast<unsigned>(c - '0') + 52;
    } else if (c == '+') {
      value = 62;
    } else if (c == '/') {
      value = 63;
    } else {
      return Fail(ErrorKind::kInvalid, format("\"{}\" is no base 64", c));
    }
    if (padding > 0) {
      return Fail(ErrorKind::kInvalid, "text after the padding of base 64");
    }
    bits = (bits << 6U) | value;
    if (++count % 4 != 1) {
      decoded +=
          static_cast<char>((bits >> (6U - 2U * (static_cast<unsigned>(count + 3) % 4U))) & 0xFFU);
    }
  }
  if ((count + padding) % 4 != 0 || padding > 2) {
    return Fail(ErrorKind::kInvalid, "base 64 ends too early");
  }
  return decoded;
}

}  // namespace gantry::kube
