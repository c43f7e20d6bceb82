// SPDX-License-Identifier: Apache-2.0
// Which server does a kubeconfig name, and which user? Kubeconfigs (client-go api/v1 Config) are
// reduced to one context. Inline certificates and keys (…-data) win over files, a token's file over
// the token, as in kubectl.
#include "kube/kubeconfig.h"

#include <arpa/inet.h>
#include <yaml-cpp/yaml.h>

#include "base/base64.h"
#include "base/text.h"
#include "kube/exec_credential.h"

namespace gantry::kube {
namespace {

std::string TextOf(const YAML::Node& node, const char* field) {
  const YAML::Node value = node[field];
  return value && value.IsScalar() ? value.Scalar() : "";
}

struct Root {
  YAML::Node node;
  std::string folder;
};

struct Entry {
  YAML::Node node;
  std::string folder;  // of the file that contains it
  // A file that the kubeconfig names.
  [[nodiscard]] std::string Absolute(const std::string& file) const {
    return file.starts_with('/') ? file : format("{}/{}", folder, file);
  }
};

// The first entry of a list with that "name", under its field.
Result<Entry> FindEntry(const std::vector<Root>& roots, const char* list, const char* field,
                        const std::string& name) {
  for (const Root& root : roots) {
    const YAML::Node entries = root.node[list];
    if (!entries || !entries.IsSequence()) {
      continue;
    }
    for (const YAML::Node& entry : entries) {
      if (entry.IsMap() && TextOf(entry, "name") == name && entry[field] && entry[field].IsMap()) {
        return Entry{.node = entry[field], .folder = root.folder};
      }
    }
  }
  return Fail(ErrorKind::kInvalid, format("{}: none is named \"{}\"", list, name));
}

// The inline base64 content, or that of the file.
Result<std::string> Contents(const Entry& entry, const std::string& field, const ReadFile& read) {
  const std::string inline_text = TextOf(entry.node, (field + "-data").c_str());
  if (!inline_text.empty()) {
    Result<std::string> decoded = DecodeBase64(inline_text);
    if (!decoded.has_value()) {
      return std::unexpected(decoded.error().In(field + "-data"));
    }
    return decoded;
  }
  const std::string file = TextOf(entry.node, field.c_str());
  if (file.empty()) {
    return std::string();
  }
  Result<std::string> text = read(entry.Absolute(file));
  if (!text.has_value()) {
    return Fail(ErrorKind::kInvalid, format("{}: {}", field, text.error().message));
  }
  return text;
}

// The program of users[].user.exec, and its input.
CredentialProgram ProgramOf(const Entry& user, const YAML::Node& exec, const Config& config) {
  CredentialProgram program;
  const std::string command = TextOf(exec, "command");
  program.words = {command.find('/') == std::string::npos ? command : user.Absolute(command)};
  if (const YAML::Node arguments = exec["args"]; arguments && arguments.IsSequence()) {
    for (const YAML::Node& argument : arguments) {
      program.words.push_back(argument.IsScalar() ? argument.Scalar() : "");
    }
  }
  if (const YAML::Node variables = exec["env"]; variables && variables.IsSequence()) {
    for (const YAML::Node& variable : variables) {
      if (variable.IsMap()) {
        program.environment.push_back(
            format("{}={}", TextOf(variable, "name"), TextOf(variable, "value")));
      }
    }
  }
  const bool tell_cluster = ParseBool(TextOf(exec, "provideClusterInfo")).value_or(false);
  program.environment.push_back(
      "KUBERNETES_EXEC_INFO=" +
      ExecInfo(TextOf(exec, "apiVersion"), tell_cluster ? &config : nullptr));
  return program;
}

Status UseProgram(const Entry& user, const YAML::Node& exec, const RunProgram& run,
                  Config& config) {
  if (!run) {
    return Fail(ErrorKind::kUnsupported,
                "not supported here; use a certificate, token or tokenFile");
  }
  if (TextOf(exec, "interactiveMode") == "Always") {
    return Fail(ErrorKind::kUnsupported, "interactiveMode: it can't be asked anything here");
  }
  const std::string version = TextOf(exec, "apiVersion");
  const std::string hint = TextOf(exec, "installHint");
  const CredentialProgram program = ProgramOf(user, exec, config);
  const auto ask = [=]() -> Result<ExecCredential> {
    const Result<std::string> printed = run(program);
    if (!printed.has_value()) {
      Error error = printed.error();
      if (error.kind == ErrorKind::kNotFound && !hint.empty()) {
        error.message += "; " + hint;
      }
      return std::unexpected(std::move(error));
    }
    return ReadExecCredential(*printed, version);
  };
  TRY_ASSIGN(const ExecCredential credential, ask());
  config.token = credential.token;
  if (!credential.key_pem.empty()) {
    config.client_certificate_pem = credential.certificate_pem;
    config.client_key_pem = credential.key_pem;
  }
  if (!config.token.empty()) {
    config.renew_token = [ask]() -> Result<std::string> {
      TRY_ASSIGN(const ExecCredential next, ask());
      return next.token;
    };
  }
  return {};
}

Status UseUser(const Entry& user, const std::string& name, const ReadFile& read,
               const RunProgram& run, Config& config) {
  for (const char* field : {"auth-provider", "username", "as"}) {
    if (user.node[field]) {
      return Fail(ErrorKind::kUnsupported,
                  format("users[].user.{} of \"{}\": not supported; use exec, a certificate, token "
                         "or tokenFile",
                         field, name));
    }
  }
  TRY_ASSIGN(config.client_certificate_pem, Contents(user, "client-certificate", read));
  TRY_ASSIGN(config.client_key_pem, Contents(user, "client-key", read));
  if (config.client_certificate_pem.empty() != config.client_key_pem.empty()) {
    return Fail(
        ErrorKind::kInvalid,
        format("users[].user of \"{}\": client-certificate and client-key go together", name));
  }
  config.token = TextOf(user.node, "token");
  if (const std::string token_file = TextOf(user.node, "tokenFile"); !token_file.empty()) {
    config.token_file = user.Absolute(token_file);
  }
  const YAML::Node exec = user.node["exec"];
  if (exec && exec.IsMap() && config.token.empty() && config.token_file.empty()) {
    if (const Status used = UseProgram(user, exec, run, config); !used.has_value()) {
      return std::unexpected(used.error().In(format("users[].user.exec of \"{}\"", name)));
    }
  }
  return {};
}

Result<Config> FromRoots(const std::vector<Root>& roots, std::string_view chosen,
                         const ReadFile& read, const RunProgram& run) {
  std::string current(chosen);
  for (const Root& root : roots) {
    current = current.empty() ? TextOf(root.node, "current-context") : current;
  }
  if (current.empty()) {
    return Fail(ErrorKind::kInvalid, "current-context: empty");
  }
  TRY_ASSIGN(const Entry context, FindEntry(roots, "contexts", "context", current));
  TRY_ASSIGN(const Entry cluster,
             FindEntry(roots, "clusters", "cluster", TextOf(context.node, "cluster")));
  Config config;
  config.ns = TextOf(context.node, "namespace");
  if (config.ns.empty()) {
    config.ns = "default";
  }
  TRY(ParseServerUrl(TextOf(cluster.node, "server"), config));
  if (!TextOf(cluster.node, "proxy-url").empty()) {
    return Fail(ErrorKind::kUnsupported, "clusters[].cluster.proxy-url: not supported");
  }
  config.server_name = TextOf(cluster.node, "tls-server-name");
  const std::string insecure = TextOf(cluster.node, "insecure-skip-tls-verify");
  if (!insecure.empty()) {
    const Result<bool> parsed = ParseBool(insecure);
    if (!parsed.has_value()) {
      return std::unexpected(parsed.error().In("insecure-skip-tls-verify"));
    }
    config.insecure_skip_verify = *parsed;
  }
  TRY_ASSIGN(config.ca_pem, Contents(cluster, "certificate-authority", read));

  const std::string user_name = TextOf(context.node, "user");
  if (!user_name.empty()) {
    TRY_ASSIGN(const Entry user, FindEntry(roots, "users", "user", user_name));
    TRY(UseUser(user, user_name, read, run, config));
  }
  return config;
}

Result<Root> ReadRoot(const KubeconfigFile& file) {
  const size_t slash = file.path.rfind('/');
  Root root{.node = YAML::Load(file.text),
            .folder = slash == std::string::npos ? "." : file.path.substr(0, slash)};
  if (!root.node.IsMap() && !root.node.IsNull()) {
    return Fail(ErrorKind::kInvalid,
                format("{}: not a map of clusters, users and contexts", file.path));
  }
  return root;
}

}  // namespace

Result<Config> ParseKubeconfig(const std::vector<KubeconfigFile>& files, std::string_view context,
                               const ReadFile& read, const RunProgram& run) {
  std::string_view path;
  try {
    std::vector<Root> roots;
    for (const KubeconfigFile& file : files) {
      path = file.path;
      TRY_ASSIGN(Root root, ReadRoot(file));
      roots.push_back(std::move(root));
    }
    return FromRoots(roots, context, read, run);
  } catch (const YAML::Exception& e) {
    return Fail(ErrorKind::kInvalid, format("{}: {}", path, e.what()));
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
  // The token is read when it is sent: it changes.
  config.token_file = directory + "/token";
  config.ns = Trim(read(directory + "/namespace").value_or("default"));
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
    // RFC 3986, 3.2.2: only an IPv6 address is written in brackets; RFC 6874: with its zone.
    const std::string address(authority.substr(0, authority.find('%')));
    in6_addr parsed{};
    if (address.contains('\0') || inet_pton(AF_INET6, address.c_str(), &parsed) != 1) {
      return wrong("no IPv6 address between [ and ]");
    }
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

}  // namespace gantry::kube
