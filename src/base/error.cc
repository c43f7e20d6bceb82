// SPDX-License-Identifier: Apache-2.0
// What went wrong, and what does the caller do about it? The one error type: a kind and a message.
#include "base/error.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace gantry {

std::string_view KindName(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kNotFound:
      return "not found";
    case ErrorKind::kConflict:
      return "conflict";
    case ErrorKind::kUnavailable:
      return "unavailable";
    case ErrorKind::kDenied:
      return "denied";
    case ErrorKind::kInvalid:
      return "invalid";
    case ErrorKind::kUnsupported:
      return "unsupported";
    case ErrorKind::kTimeout:
      return "timeout";
    case ErrorKind::kInternal:
      return "internal";
  }
  return "internal";
}

Error Error::In(std::string_view context) const {
  return Error{kind, std::string(context) + ": " + message};
}

std::unexpected<Error> Fail(ErrorKind kind, std::string message) {
  return std::unexpected(Error{kind, std::move(message)});
}

std::unexpected<Error> FailErrno(std::string_view what, int error_number) {
  ErrorKind kind = ErrorKind::kInternal;
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      kind = ErrorKind::kNotFound;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      kind = ErrorKind::kDenied;
      break;
    case EAGAIN:
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
      kind = ErrorKind::kUnavailable;
      break;
    case ETIMEDOUT:
      kind = ErrorKind::kTimeout;
      break;
    case ENOTSUP:
    case ENOSYS:
      kind = ErrorKind::kUnsupported;
      break;
    case EINVAL:
      kind = ErrorKind::kInvalid;
      break;
    default:
      break;
  }
  return Fail(kind, std::string(what) + ": " + std::generic_category().message(error_number));
}

void CheckFailed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, expression);
  std::abort();
}

}  // namespace gantry
