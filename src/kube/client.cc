// SPDX-License-Identifier: Apache-2.0
// Which HTTP call is each verb of the Kubernetes API? Its method, path, query and content type, and
// the prefix of its errors. Objects stay JSON values.
#include "kube/client.h"

#include "base/text.h"
#include "kube/list_scanner.h"
#include "kube/path.h"
#include "kube/status.h"
#include "kube/transport.h"

namespace gantry::kube {
namespace {

constexpr std::string_view kJson = "application/json";

std::string_view PathOf(Part part) {
  switch (part) {
    case Part::kWhole:
      return "";
    case Part::kStatus:
      return "status";
  }
  return "";
}

std::string_view NameOf(Propagation propagation) {
  switch (propagation) {
    case Propagation::kBackground:
      return "Background";
    case Propagation::kForeground:
      return "Foreground";
    case Propagation::kOrphan:
      return "Orphan";
  }
  return "Background";
}

// "get daemonset a/b", "apply status of node c".
std::string Words(std::string_view verb, const Kind& kind, const Key& key,
                  Part part = Part::kWhole) {
  return format("{} {}{}{} {}", verb, PathOf(part), part == Part::kWhole ? "" : " of ",
                Lower(kind.kind), key.Text());
}

// An empty name would give the collection's path: a Delete of everything.
Status CheckNamed(const Kind& kind, const Key& key) {
  if (key.name.empty()) {
    return Fail(ErrorKind::kInvalid, "metadata.name is empty");
  }
  if (kind.namespaced && key.ns.empty()) {
    return Fail(ErrorKind::kInvalid, "metadata.namespace is empty");
  }
  return {};
}

Json DeleteBody(const DeleteOptions& options) {
  Json body = {{"apiVersion", "v1"},
               {"kind", "DeleteOptions"},
               {"propagationPolicy", std::string(NameOf(options.propagation))}};
  if (options.grace_seconds >= 0) {
    body["gracePeriodSeconds"] = options.grace_seconds;
  }
  if (!options.uid.empty()) {
    body["preconditions"]["uid"] = options.uid;
  }
  if (!options.resource_version.empty()) {
    body["preconditions"]["resourceVersion"] = options.resource_version;
  }
  return body;
}

std::string Dump(const Json& json) {
  // Bytes that are not UTF-8 (from a file or a driver) must not end the process.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

struct Client::Call {
  std::string words;  // the prefix of an error
  HttpCall http;
};

Result<std::unique_ptr<Client>> Client::Create(Config config, ClientOptions options,
                                               std::stop_token stop) {
  TRY_ASSIGN(std::shared_ptr<Transport> transport,
             Transport::Create(config, options, std::move(stop)));
  return std::unique_ptr<Client>(new Client(std::make_shared<const Config>(std::move(config)),
                                            std::move(options), std::move(transport), {}));
}

Client::Client(std::shared_ptr<const Config> config, ClientOptions options,
               std::shared_ptr<Transport> transport, std::stop_token stop)
    : config_(std::move(config)),
      options_(std::move(options)),
      transport_(std::move(transport)),
      stop_(std::move(stop)) {}

Client::~Client() = default;

std::unique_ptr<Client> Client::Bounded(std::stop_token stop,
                                        std::chrono::milliseconds timeout) const {
  ClientOptions options = options_;
  if (timeout.count() > 0) {
    options.timeout = timeout;
  }
  return std::unique_ptr<Client>(
      new Client(config_, std::move(options), transport_, std::move(stop)));
}

int Client::open_connections() const { return transport_->open_connections(); }
std::string Client::FormatMetrics() const { return transport_->counts().Text(config_->HostPort()); }

// Sends the call and passes the pieces of a successful response to `body`.
Status Client::Stream(const Call& call, const std::function<void(std::string_view)>& body) const {
  HttpCall http = call.http;
  http.timeout = options_.timeout;
  http.stop = stop_;
  const Result<HttpAnswer> answer = transport_->Send(http, body);
  if (!answer.has_value()) {
    return std::unexpected(answer.error().In(call.words));
  }
  if (answer->status < 200 || answer->status >= 300) {
    return std::unexpected(ErrorOfAnswer(answer->status, answer->body).In(call.words));
  }
  return {};
}

Result<Json> Client::Ask(Call call) const {
  std::string text;
  TRY(Stream(call, [&text](std::string_view piece) { text += piece; }));
  Result<Json> answer = ParseJson(text);
  if (!answer.has_value()) {
    return Fail(ErrorKind::kUnavailable, format("{}: {}", call.words, answer.error().message));
  }
  return answer;
}

Result<Json> Client::Get(const Kind& kind, const Key& key) {
  const std::string words = Words("get", kind, key);
  if (const Status named = CheckNamed(kind, key); !named.has_value()) {
    return std::unexpected(named.error().In(words));
  }
  return Ask({.words = words, .http = {.method = "GET", .target = ObjectPath(kind, key)}});
}

Result<std::string> Client::List(const Kind& kind, const Selection& selection, const ItemSink& item,
                                 int page) {
  const std::string words = Words("list", kind, {.ns = selection.ns, .name = ""});
  std::string next;
  while (true) {
    Status items;
    ListScanner scanner([&](std::string_view text) {
      Result<Json> object = ParseJson(text);
      if (!object.has_value()) {
        items = std::unexpected(object.error());
        return;
      }
      (*object)["apiVersion"] = kind.ApiVersion();
      (*object)["kind"] = std::string(kind.kind);
      item(std::move(*object));
    });
    const std::string query = Query()
                                  .Add("limit", page > 0 ? std::to_string(page) : "")
                                  .Add("labelSelector", selection.labels)
                                  .Add("fieldSelector", selection.fields)
                                  .Add("continue", next)
                                  .text();
    TRY(Stream({.words = words,
                .http = {.method = "GET", .target = CollectionPath(kind, selection.ns) + query}},
               [&scanner](std::string_view piece) { scanner.Feed(piece); }));
    const Result<Json> envelope = ParseJson(scanner.envelope());
    if (!items.has_value() || !envelope.has_value()) {
      return Fail(ErrorKind::kUnavailable,
                  format("{}: {}", words,
                         items.has_value() ? envelope.error().message : items.error().message));
    }
    next = TextAt(*envelope, "metadata.continue");
    if (next.empty()) {
      return ResourceVersionOf(*envelope);
    }
  }
}

Result<Json> Client::Create(const Kind& kind, const Json& object) {
  const Key key = KeyOf(object);
  return Ask({.words = Words("create", kind, key),
              .http = {.method = "POST",
                       .target = CollectionPath(kind, key.ns) +
                                 Query().Add("fieldManager", options_.field_manager).text(),
                       .body = Dump(object),
                       .content_type = kJson}});
}

// How an object, or a change of it, is sent.
struct Client::Writing {
  std::string_view verb;  // in messages
  std::string_view method;
  std::string_view content_type;
  std::string_view force = {};  // of an apply: "true" or "false"
};

Result<Json> Client::Write(const Writing& writing, const Kind& kind, const Key& key,
                           const Json& body, Part part) const {
  const std::string words = Words(writing.verb, kind, key, part);
  if (const Status named = CheckNamed(kind, key); !named.has_value()) {
    return std::unexpected(named.error().In(words));
  }
  return Ask({.words = words,
              .http = {.method = writing.method,
                       .target = ObjectPath(kind, key, PathOf(part)) +
                                 Query()
                                     .Add("fieldManager", options_.field_manager)
                                     .Add("force", writing.force)
                                     .text(),
                       .body = Dump(body),
                       .content_type = writing.content_type}});
}

Result<Json> Client::Replace(const Kind& kind, const Json& object, Part part) {
  return Write({.verb = "replace", .method = "PUT", .content_type = kJson}, kind, KeyOf(object),
               object, part);
}

Result<Json> Client::Apply(const Kind& kind, const Json& object, Force force, Part part) {
  return Write({.verb = "apply",
                .method = "PATCH",
                .content_type = "application/apply-patch+yaml",
                .force = force == Force::kYes ? "true" : "false"},
               kind, KeyOf(object), object, part);
}

Result<Json> Client::MergePatch(const Kind& kind, const Key& key, const Json& patch, Part part) {
  return Write({.verb = "patch", .method = "PATCH", .content_type = "application/merge-patch+json"},
               kind, key, patch, part);
}

Result<Json> Client::JsonPatch(const Kind& kind, const Key& key, const Json& operations,
                               Part part) {
  return Write({.verb = "patch", .method = "PATCH", .content_type = "application/json-patch+json"},
               kind, key, operations, part);
}

Status Client::Delete(const Kind& kind, const Key& key, const DeleteOptions& options) {
  const std::string words = Words("delete", kind, key);
  if (const Status named = CheckNamed(kind, key); !named.has_value()) {
    return std::unexpected(named.error().In(words));
  }
  return Stream({.words = words,
                 .http = {.method = "DELETE",
                          .target = ObjectPath(kind, key),
                          .body = Dump(DeleteBody(options)),
                          .content_type = kJson}},
                [](std::string_view) {});
}

Status Client::Evict(const Key& pod, const DeleteOptions& options) {
  const std::string words = Words("evict", kinds::kPod, pod);
  if (const Status named = CheckNamed(kinds::kPod, pod); !named.has_value()) {
    return std::unexpected(named.error().In(words));
  }
  const Json eviction = {{"apiVersion", "policy/v1"},
                         {"kind", "Eviction"},
                         {"metadata", {{"name", pod.name}, {"namespace", pod.ns}}},
                         {"deleteOptions", DeleteBody(options)}};
  // Here 429 means that a disruption budget forbids it: the caller decides how long to wait.
  return Stream({.words = words,
                 .http = {.method = "POST",
                          .target = ObjectPath(kinds::kPod, pod, "eviction"),
                          .body = Dump(eviction),
                          .content_type = kJson,
                          .wait_when_told = false}},
                [](std::string_view) {});
}

Result<std::string> Client::Log(const Key& pod, const LogOptions& options) {
  const std::string words =
      format("get log of pod {}, container {}", pod.Text(), options.container);
  if (const Status named = CheckNamed(kinds::kPod, pod); !named.has_value()) {
    return std::unexpected(named.error().In(words));
  }
  const auto number = [](long long value) { return value > 0 ? std::to_string(value) : ""; };
  const std::string query = Query()
                                .Add("container", options.container)
                                .Add("previous", options.previous ? "true" : "")
                                .Add("sinceSeconds", number(options.since.count()))
                                .Add("tailLines", number(options.tail_lines))
                                .Add("limitBytes", number(options.limit_bytes))
                                .text();
  std::string text;
  TRY(Stream({.words = words,
              .http = {.method = "GET", .target = ObjectPath(kinds::kPod, pod, "log") + query}},
             [&text](std::string_view piece) { text += piece; }));
  return text;
}

Result<Json> Client::GetPath(std::string_view path) {
  return Ask(
      {.words = format("get {}", path), .http = {.method = "GET", .target = std::string(path)}});
}

Status Client::WatchOnce(const Kind& kind, const Selection& selection, const WatchFrom& from,
                         const EventSink& event) {
  const std::string words = Words("watch", kind, {.ns = selection.ns, .name = ""});
  Status told;
  LineScanner scanner([&](std::string_view line) {
    const Result<Json> parsed = ParseJson(line);
    if (!told.has_value()) {
      return;
    }
    if (!parsed.has_value()) {
      told = Fail(ErrorKind::kUnavailable, format("{}: {}", words, parsed.error().message));
    } else if (TextAt(*parsed, "type") == "ERROR") {
      const Json* status = At(*parsed, "object");
      const auto code = static_cast<int>(IntAt(*parsed, "object.code", 500));
      told = std::unexpected(
          ErrorOfAnswer(code, status == nullptr ? std::string() : Dump(*status)).In(words));
    } else {
      event(*parsed);
    }
  });
  const std::string query = Query()
                                .Add("watch", "true")
                                .Add("allowWatchBookmarks", "true")
                                .Add("resourceVersion", from.resource_version)
                                .Add("timeoutSeconds", std::to_string(from.server_timeout.count()))
                                .Add("labelSelector", selection.labels)
                                .Add("fieldSelector", selection.fields)
                                .text();
  const Status streamed = Stream({.words = words,
                                  .http = {.method = "GET",
                                           .target = CollectionPath(kind, selection.ns) + query,
                                           .wait_when_told = false,
                                           .idle_limit = from.idle_limit}},
                                 [&scanner](std::string_view piece) { scanner.Feed(piece); });
  return told.has_value() ? streamed : told;
}

}  // namespace gantry::kube
