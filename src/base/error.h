// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace gantry {

// What went wrong, named by what the caller does about it. One mapping per adapter (HTTP status,
// errno, NVML code) leads here; no other code decides by message texts.
enum class ErrorKind {
  kNotFound,     // treat as absent, or wait for it
  kConflict,     // read again at once
  kUnavailable,  // back off with jitter and try again
  kDenied,       // a right is missing: name it to the user; long back-off
  kInvalid,      // stop until the input changes; the message names the field
  kUnsupported,  // serve without it
  kTimeout,      // as kUnavailable, sooner
  kInternal,     // a bug of Gantry, or of what it talks to
};

// "not found", "conflict", ...: for logs and metrics.
std::string_view KindName(ErrorKind kind);

// Message form: "verb object: reason", lower case; every layer prepends its own verb and object.
struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string message;

  // The same error with "context: " in front of its message.
  [[nodiscard]] Error In(std::string_view context) const;
};

template <typename T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] std::unexpected<Error> Fail(ErrorKind kind, std::string message);
// errno -> kind in one place: ENOENT kNotFound, EACCES/EPERM kDenied, EAGAIN kUnavailable,
// ETIMEDOUT kTimeout, ENOTSUP kUnsupported, EINVAL kInvalid, else kInternal.
[[nodiscard]] std::unexpected<Error> FailErrno(std::string_view what, int error_number);

// Ends the process: an invariant is broken; the kubelet restarts it.
[[noreturn]] void CheckFailed(const char* expression, const char* file, int line);

}  // namespace gantry

#define CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::gantry::CheckFailed(#condition, __FILE__, __LINE__))

// TRY(expr): returns the error of a Status or Result from the enclosing function.
#define TRY(expr)                                              \
  do {                                                         \
    if (auto try_result_ = (expr); !try_result_.has_value()) { \
      return std::unexpected(std::move(try_result_).error());  \
    }                                                          \
  } while (false)

// TRY_ASSIGN(auto x, expr): x takes the value of a Result, or the error is returned.
#define TRY_ASSIGN(declaration, expr) \
  TRY_ASSIGN_IMPL_(GANTRY_CONCAT_(try_value_, __LINE__), declaration, expr)
#define TRY_ASSIGN_IMPL_(name, declaration, expr)    \
  auto name = (expr);                                \
  if (!name.has_value()) {                           \
    return std::unexpected(std::move(name).error()); \
  }                                                  \
  declaration = *std::move(name)
#define GANTRY_CONCAT_(a, b) GANTRY_CONCAT2_(a, b)
#define GANTRY_CONCAT2_(a, b) a##b
