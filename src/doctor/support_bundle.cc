// SPDX-License-Identifier: Apache-2.0
// How does the command support-bundle run? It reads part after part and adds each to the archive.
// bundle_plan.cc selects the objects, redact.cc removes credentials. Objects are read one at a time
// and kept as text, so a large cluster costs no more memory than its text.
#include "doctor/support_bundle.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <vector>

#include "base/clock.h"
#include "base/command_line.h"
#include "base/text.h"
#include "doctor/archive.h"
#include "doctor/bundle_plan.h"
#include "doctor/connect.h"
#include "doctor/findings.h"
#include "doctor/interruption.h"
#include "doctor/read_cluster.h"
#include "doctor/redact.h"
#include "doctor/status_table.h"
#include "kube/client.h"
#include "policy/kinds.h"
#include "policy/plugin_config.h"

namespace gantry::doctor {
namespace {

using std::chrono::seconds;

constexpr size_t kMostBundledLogs = 400;
constexpr long long kBundledLines = 5000;
constexpr long long kBundledBytes = 1024 * 1024;

struct BundleFlags {
  ClusterFlags cluster;
  std::string ns;
  std::string output;
  std::string since = "24h";
};

std::string Dump(const Json& json) {
  // Bytes that are not UTF-8 must not end the process.
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

// One line that is overwritten on a terminal, and separate lines elsewhere.
class Progress {
 public:
  Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(std::string_view text) {
    Clear();
    Write(terminal_ ? format("{} ...", text) : format("{} ...\n", text));
    shown_ = true;
  }
  // A line that is not overwritten.
  void Say(std::string_view text) {
    Clear();
    Write(format("{}\n", text));
  }

 private:
  void Clear() {
    if (terminal_ && shown_) {
      Write("\r\x1b[K");
    }
    shown_ = false;
  }
  static void Write(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

  const bool terminal_;
  bool shown_ = false;
};

// Objects as one JSON list.
class ListText {
 public:
  void Add(const Json& object) {
    text_ += count_++ == 0 ? "" : ",\n";
    text_ += Dump(object);
  }
  [[nodiscard]] std::string Whole() const { return "[\n" + text_ + "\n]\n"; }
  [[nodiscard]] size_t count() const { return count_; }

 private:
  std::string text_;
  size_t count_ = 0;
};

class Bundle {
 public:
  // `client` ends its calls when `stop` is requested.
  Bundle(kube::Client& client, std::stop_token stop, Archive& archive, std::string ns,
         seconds since)
      : client_(client),
        stop_(std::move(stop)),
        archive_(archive),
        ns_(std::move(ns)),
        since_(since),
        now_(RealClock().Wall()) {}

  // Errors are those of the archive, and kUnavailable after a stop.
  Status Write() {
    TRY(Part("versions", [this] { return Versions(); }));
    TRY(Part("cluster policies", [this] { return Policies(); }));
    TRY(Part("doctor and status", [this] { return Doctor(); }));
    TRY(Part("nodes", [this] { return Listed("nodes.json", kube::kinds::kNode, {}, NodePart); }));
    for (const kube::Kind& kind : {policy::kGpuClusterPolicy, policy::kGpuCluster,
                                   policy::kNvidiaDriver, policy::kNodeFeatureRule}) {
      TRY(Part(std::string(kind.plural),
               [this, &kind] { return Listed(format("{}.json", kind.plural), kind, {}, Whole); }));
    }
    TRY(Namespaced());
    TRY(Part("events", [this] { return Events(); }));
    TRY(Part("pods", [this] { return Pods(); }));
    TRY(Logs());
    return archive_.Add("errors.txt", errors_.empty() ? "nothing went wrong\n" : errors_);
  }

  [[nodiscard]] size_t failed() const { return failed_; }

 private:
  static Json Whole(const Json& object) { return object; }

  // Reads a part. Its failure is recorded, unless the archive itself failed.
  Status Part(const std::string& name, const std::function<Status()>& read) {
    progress_.Show(name);
    const Status status = read();
    if (stop_.stop_requested()) {
      return Fail(ErrorKind::kUnavailable, "interrupted");
    }
    if (!written_.has_value()) {
      return written_;
    }
    if (!status.has_value()) {
      Failed(name, status.error());
    }
    return {};
  }

  void Failed(const std::string& name, const Error& error) {
    ++failed_;
    errors_ += format("{}: {}\n", name, RedactedText(error.message));
    if (error.kind == ErrorKind::kDenied) {
      progress_.Say(format("permission denied: {}: {}", name, RedactedText(error.message)));
    }
  }

  // A file that does not fit into the archive fails its part; any other failure ends the bundle.
  Status Add(std::string_view path, std::string_view content) {
    Status added = archive_.Add(path, content);
    if (!added.has_value() && added.error().kind != ErrorKind::kInvalid) {
      written_ = added;
    }
    return added;
  }

  Status Versions() {
    Json versions = {
        {"gantry", GANTRY_VERSION}, {"taken", Rfc3339(now_)}, {"since", since_.count()}};
    const Result<Json> server = client_.GetPath("/version");
    versions["kubernetes"] = server.has_value() ? *server : Json(nullptr);
    TRY(Add("versions.json", Dump(versions) + "\n"));
    return server.has_value() ? Status() : Status(std::unexpected(server.error()));
  }

  Status Policies() {
    ListText text;
    TRY(client_.List(policy::kClusterPolicy, {}, [this, &text](const Json& policy) {
      text.Add(Redacted(policy));
      config_maps_.merge(NamedConfigMaps(policy));
    }));
    return Add("clusterpolicies.json", text.Whole());
  }

  Status Doctor() {
    TRY_ASSIGN(const ClusterFacts cluster, ReadCluster(client_, "", stop_));
    if (ns_.empty()) {
      ns_ = OperatorNamespace(cluster);
    }
    const std::vector<Finding> findings = Examine(cluster);
    TRY(Add("doctor.txt", RedactedText(TextOf(findings))));
    TRY(Add("doctor.json", Dump(Redacted(JsonOf(findings))) + "\n"));
    return Add("status.txt", StatusText(cluster));
  }

  // A kind that the API server does not serve has no objects.
  Status Listed(const std::string& path, const kube::Kind& kind, const kube::Selection& selection,
                Json (*part)(const Json&)) {
    ListText text;
    const auto listed = client_.List(
        kind, selection, [&text, part](const Json& object) { text.Add(Redacted(part(object))); });
    if (!listed.has_value() && listed.error().kind != ErrorKind::kNotFound) {
      return std::unexpected(listed.error());
    }
    return Add(path, text.Whole());
  }

  // Objects in the operator's namespace, and objects that it made elsewhere.
  Status Namespaced() {
    if (ns_.empty()) {
      Failed("namespace", {.kind = ErrorKind::kNotFound,
                           .message = "the operator's namespace is not known; set --namespace to "
                                      "include its objects and logs"});
      return {};
    }
    static constexpr std::array kAll = {
        kube::kinds::kDaemonSet, kube::kinds::kDeployment,    kube::kinds::kControllerRevision,
        kube::kinds::kService,   kube::kinds::kRole,          kube::kinds::kRoleBinding,
        kube::kinds::kLease,     kube::kinds::kResourceQuota, kube::kinds::kServiceAccount,
        kube::kinds::kJob,       policy::kNodeFeature};
    static constexpr std::array kOwned = {
        kube::kinds::kClusterRole, kube::kinds::kClusterRoleBinding, kube::kinds::kRuntimeClass};
    for (const kube::Kind& kind : kAll) {
      TRY(Part(std::string(kind.plural), [this, &kind] {
        return Listed(format("objects/{}.json", kind.plural), kind, {.ns = ns_}, Whole);
      }));
    }
    for (const kube::Kind& kind : kOwned) {
      TRY(Part(std::string(kind.plural), [this, &kind] {
        return Listed(format("objects/{}.json", kind.plural), kind, {.labels = OwnedSelector()},
                      Whole);
      }));
    }
    return Part("configmaps", [this] { return ConfigMaps(); });
  }

  // ConfigMaps that the operator made, and those that a policy names.
  Status ConfigMaps() {
    ListText text;
    TRY(client_.List(kube::kinds::kConfigMap, {.ns = ns_, .labels = OwnedSelector()},
                     [this, &text](const Json& config_map) {
                       text.Add(Redacted(config_map));
                       config_maps_.erase(TextAt(config_map, "metadata.name"));
                     }));
    for (const std::string& name : config_maps_) {
      const Result<Json> config_map = client_.Get(kube::kinds::kConfigMap, {ns_, name});
      if (config_map.has_value()) {
        text.Add(Redacted(*config_map));
      } else {
        Failed("configmaps", config_map.error());
      }
    }
    return Add("objects/configmaps.json", text.Whole());
  }

  // Events of the operator's namespace, and of nodes, which are in another namespace.
  Status Events() {
    ListText text;
    const std::string oldest = Rfc3339(now_ - since_);
    const auto add = [&](const Json& event) {
      if (LastSeen(event) >= oldest) {
        text.Add(Redacted(event));
      }
    };
    TRY(client_.List(kube::kinds::kEvent, {.fields = "involvedObject.kind=Node"}, add));
    if (!ns_.empty()) {
      TRY(client_.List(kube::kinds::kEvent, {.ns = ns_}, add));
    }
    return Add("events.json", text.Whole());
  }

  Status Pods() {
    if (ns_.empty()) {
      return {};
    }
    ListText text;
    TRY(client_.List(kube::kinds::kPod, {.ns = ns_}, [this, &text](const Json& pod) {
      text.Add(Redacted(pod));
      std::ranges::move(LogsOf(pod), std::back_inserter(logs_));
    }));
    return Add("pods.json", text.Whole());
  }

  Status Logs() {
    const ChosenLogs chosen = ChooseLogs(logs_, kMostBundledLogs);
    for (size_t i = 0; i < chosen.logs.size() && !logs_denied_; ++i) {
      const LogPlan& log = chosen.logs[i];
      TRY(Part(format("log {} of {}: {}", i + 1, chosen.logs.size(), PathOf(log)),
               [this, &log] { return Log(log); }));
    }
    if (chosen.left > 0) {
      errors_ += format("logs: {} more were left out; those of failing containers come first\n",
                        chosen.left);
    }
    return {};
  }

  // Logs of a kubelet that did not respond once are not requested again.
  Status Log(const LogPlan& log) {
    if (silent_.contains(log.node)) {
      return Fail(ErrorKind::kUnavailable, format("node {} returns no logs", log.node));
    }
    const Result<std::string> text = client_.Log({log.ns, log.pod}, {.container = log.container,
                                                                     .previous = log.previous,
                                                                     .since = since_,
                                                                     .tail_lines = kBundledLines,
                                                                     .limit_bytes = kBundledBytes});
    if (text.has_value()) {
      return Add(PathOf(log), RedactedText(*text));
    }
    if (text.error().kind == ErrorKind::kUnavailable || text.error().kind == ErrorKind::kTimeout) {
      silent_.insert(log.node);
    }
    logs_denied_ = text.error().kind == ErrorKind::kDenied;
    return std::unexpected(text.error());
  }

  kube::Client& client_;
  const std::stop_token stop_;
  Archive& archive_;
  std::string ns_;
  const seconds since_;
  const WallTime now_;
  Progress progress_;
  std::set<std::string> config_maps_;
  std::vector<LogPlan> logs_;
  std::set<std::string> silent_;  // nodes
  bool logs_denied_ = false;
  std::string errors_;
  size_t failed_ = 0;
  Status written_;
};

Result<seconds> ParseSince(const std::string& text) {
  const Result<std::chrono::nanoseconds> since = policy::ParseDuration(text);
  if (!since.has_value() || *since < seconds(1) || *since == std::chrono::nanoseconds::max()) {
    return Fail(ErrorKind::kInvalid, format("--since: \"{}\" is not a duration such as 24h", text));
  }
  return std::chrono::floor<seconds>(*since);
}

// "gantry-support-20260102T030405Z"
std::string NameAt(WallTime time) {
  std::string name = "gantry-support-" + Rfc3339(time);
  std::erase_if(name, [](char c) { return c == ':'; });
  return name;
}

Status Run(const BundleFlags& flags) {
  TRY_ASSIGN(const seconds since, ParseSince(flags.since));
  const Interruption interruption;
  TRY_ASSIGN(const std::unique_ptr<kube::Client> client,
             Connect(flags.cluster, "support-bundle", interruption.token()));
  // If the server is unreachable, an empty bundle is useless.
  if (const Result<Json> server = client->GetPath("/version");
      !server.has_value() && server.error().kind != ErrorKind::kDenied) {
    return std::unexpected(server.error());
  }
  const WallTime now = RealClock().Wall();
  const std::string path = flags.output.empty() ? NameAt(now) + ".tar.gz" : flags.output;
  TRY_ASSIGN(const std::unique_ptr<Archive> archive, Archive::Create(path, NameAt(now), now));
  size_t failed = 0;
  {
    Bundle bundle(*client, interruption.token(), *archive, flags.ns, since);
    TRY(bundle.Write());
    failed = bundle.failed();
  }
  TRY(archive->Finish());
  const std::string rest =
      failed == 0 ? "" : format("; {} part(s) could not be read, see errors.txt in it", failed);
  std::fputs(format("{}: {} files, {} KiB{}\n", path == "-" ? "written" : path, archive->files(),
                    archive->bytes() / 1024 + 1, rest)
                 .c_str(),
             stderr);
  return {};
}

}  // namespace

int RunSupportBundle(int argc, char** argv) {
  BundleFlags flags;
  CLI::App app("Writes one archive with what a bug report needs.", "support-bundle");
  AddClusterFlags(app, flags.cluster);
  app.add_option(
      "-n,--namespace", flags.ns,
      "the operator's namespace; default: from the policy's status or the operator's objects");
  app.add_option("-o,--output", flags.output,
                 "FILE.tar.gz, or - for standard output; default: a name with the time, in the "
                 "current directory");
  app.add_option("--since", flags.since, "maximum age of logs and events")->capture_default_str();
  if (const std::optional<int> code = ParseOrExitCode(app, argc, argv)) {
    return *code;
  }
  if (const Status written = Run(flags); !written.has_value()) {
    std::fputs(format("gantry support-bundle: {}\n", written.error().message).c_str(), stderr);
    return 2;
  }
  return 0;
}

}  // namespace gantry::doctor
