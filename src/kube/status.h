// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace gantry::kube {

// What an HTTP status (>= 300) means to the caller.
ErrorKind KindOfHttpStatus(int status);
// The error of an unsuccessful response: the kind from the status, the message from the body if
// that is a metav1.Status, else the beginning of the body.
Error ErrorOfAnswer(int http_status, std::string_view body);
// How long to wait by the value of a Retry-After header: at least a second, so that retries pause,
// and at most a day. Dates (never sent by API servers) count as absent.
std::optional<std::chrono::seconds> ParseRetryAfter(std::string_view value);

}  // namespace gantry::kube
