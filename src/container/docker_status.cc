// SPDX-License-Identifier: Apache-2.0
// Which runtimes does Docker have after its configuration changed? One HTTP/1.0 request, whose
// response ends with the connection and comes in one piece.
#include "container/docker_status.h"

#include "base/json.h"
#include "base/text.h"
#include "container/unix_call.h"

namespace gantry::container {

constexpr std::string_view kQuestion = "GET /info HTTP/1.0\r\nHost: docker\r\n\r\n";
constexpr size_t kMostAnswer = size_t{4} << 20;

Result<DockerStatus> ParseDockerInfo(std::string_view answer) {
  const size_t ns = answer.find(' ');
  const size_t body = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.") || ns == std::string_view::npos ||
      body == std::string_view::npos) {
    return Fail(ErrorKind::kInternal, "read Docker's response: not HTTP");
  }
  if (answer.substr(ns + 1, 3) != "200") {
    return Fail(ErrorKind::kUnavailable,
                format("ask Docker: it answered {}", answer.substr(ns + 1, 3)));
  }
  TRY_ASSIGN(const Json info, ParseJson(answer.substr(body + 4)));
  DockerStatus status;
  if (const Json* runtimes = At(info, {"Runtimes"}); runtimes != nullptr && runtimes->is_object()) {
    for (const auto& [name, runtime] : runtimes->items()) {
      status.runtimes.push_back(name);
    }
  }
  return status;
}

Result<DockerStatus> AskDocker(const std::string& socket_path, std::chrono::milliseconds limit) {
  TRY_ASSIGN(UnixCall call, UnixCall::Connect(socket_path, limit));
  TRY(call.Send(kQuestion));
  TRY_ASSIGN(const std::string answer, call.ReceiveAll(kMostAnswer));
  TRY_ASSIGN(DockerStatus status, ParseDockerInfo(answer));
  status.pid = call.writer();
  return status;
}

}  // namespace gantry::container
