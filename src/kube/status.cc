// SPDX-License-Identifier: Apache-2.0
// Which Error is an unsuccessful HTTP status? The one mapping of statuses in this library. The body
// is normally a metav1.Status, but proxies and load balancers in front of the server send plain
// text or HTML. 410 (Gone, reason Expired) means that a resourceVersion or continue token is too
// old: the caller reads again, as after a 409.
#include "kube/status.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "kube/shortened.h"

namespace gantry::kube {

ErrorKind KindOfHttpStatus(int status) {
  switch (status) {
    case 400:
    case 405:
    case 406:
    case 413:
    case 415:
    case 422:
      return ErrorKind::kInvalid;
    case 401:
    case 403:
      return ErrorKind::kDenied;
    case 404:
      return ErrorKind::kNotFound;
    case 409:
    case 410:
      return ErrorKind::kConflict;
    case 504:
      return ErrorKind::kTimeout;
    default:
      return status == 429 || status >= 500 ? ErrorKind::kUnavailable : ErrorKind::kInternal;
  }
}

Error ErrorOfAnswer(int http_status, std::string_view body) {
  constexpr size_t kMaxForeignText = 200;
  std::string reason;
  const Result<Json> status = ParseJson(body);
  if (status.has_value() && TextAt(*status, "kind") == "Status") {
    reason = TextAt(*status, "message", TextAt(*status, "reason"));
  } else {
    reason = Trim(Shortened(body, kMaxForeignText));
  }
  if (reason.empty()) {
    reason = format("http status {}", http_status);
  }
  return {.kind = KindOfHttpStatus(http_status), .message = std::move(reason)};
}

std::optional<std::chrono::seconds> ParseRetryAfter(std::string_view value) {
  const Result<long long> seconds = ParseInt(Trim(value));
  if (!seconds.has_value() || *seconds < 0) {
    return std::nullopt;
  }
  return std::chrono::seconds(std::clamp(*seconds, 1LL, 86'400LL));
}

}  // namespace gantry::kube
