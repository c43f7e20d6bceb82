// SPDX-License-Identifier: Apache-2.0
// Is a container runtime ready after its restart, and which handlers does it have? By one CRI call.
#include "container/cri_status.h"

#include "base/json.h"
#include "container/cri_call.h"
#include "container/protobuf_field.h"

namespace gantry::container {
namespace {

bool IsReady(std::string_view condition) {
  bool runtime = false;
  bool set = false;
  while (const auto field = TakeField(condition)) {
    runtime = runtime || (field->number == 1 && field->content == "RuntimeReady");
    set = set || (field->number == 2 && field->value != 0);
  }
  return runtime && set;
}

// Names of the runtimes in the configuration that containerd returns in `info`, as JSON.
void TakeConfiguredRuntimes(std::string_view entry, std::vector<std::string>& into) {
  std::string_view key;
  std::string_view value;
  while (const auto part = TakeField(entry)) {
    (part->number == 1 ? key : value) = part->content;
  }
  const auto config = key == "config" ? ParseJson(value) : Result<Json>(Json());
  const Json* runtimes = config ? At(*config, "containerd.runtimes") : nullptr;
  if (runtimes == nullptr || !runtimes->is_object()) {
    return;
  }
  for (const auto& [name, runtime] : runtimes->items()) {
    into.push_back(name);
  }
}

}  // namespace

Result<CriStatus> ParseCriStatus(std::string_view message) {
  CriStatus status;
  std::vector<std::string> configured;
  while (!message.empty()) {
    const auto field = TakeField(message);
    if (!field) {
      return Fail(ErrorKind::kInternal, "read the runtime's status: it is broken");
    }
    std::string_view inner = field->content;
    if (field->number == 1) {  // status
      while (const auto condition = TakeField(inner)) {
        status.ready = status.ready || (condition->number == 1 && IsReady(condition->content));
      }
    } else if (field->number == 2) {  // info
      TakeConfiguredRuntimes(inner, configured);
    } else if (field->number == 3) {  // runtime_handlers
      while (const auto part = TakeField(inner)) {
        if (part->number == 1 && !part->content.empty()) {
          status.handlers.emplace_back(part->content);
        }
      }
    }
  }
  if (status.handlers.empty()) {
    status.handlers = std::move(configured);
  }
  return status;
}

Result<CriStatus> AskCriStatus(const std::string& socket_path, std::chrono::milliseconds limit) {
  constexpr std::string_view kVerbose("\x08\x01", 2);
  TRY_ASSIGN(const std::string message, CallCri(socket_path, "Status", kVerbose, limit));
  return ParseCriStatus(message);
}

}  // namespace gantry::container
