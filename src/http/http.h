// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace gantry::http {

// Reads one HTTP/1.1 response from bytes as they arrive.
class ResponseReader {
 public:
  using Body = std::function<void(std::string_view piece)>;

  // `body` gets each piece of the body, chunked encoding undone, after the head is whole.
  explicit ResponseReader(Body body);
  ~ResponseReader();
  ResponseReader(const ResponseReader&) = delete;
  ResponseReader& operator=(const ResponseReader&) = delete;

  // kUnavailable when that is no HTTP.
  Status Feed(std::string_view bytes);
  // The peer closed: kUnavailable unless that ends the body.
  Status End();

  [[nodiscard]] bool started() const;  // a first byte has come
  [[nodiscard]] bool done() const;
  // Of the head, once it is whole (else 0, false, nullopt).
  [[nodiscard]] int status() const;
  [[nodiscard]] bool keep_alive() const;
  [[nodiscard]] std::optional<std::string> retry_after() const;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  std::string pending_;
  bool started_ = false;
};

struct RequestHead {
  std::string method;
  std::string target;
  std::string authorization;  // these two are empty without the field
  std::string accept_encoding;
  bool keep_alive = false;  // the client may send another request after this one
  size_t size = 0;          // bytes of the head
};
// The head of a request, when the bytes hold it whole; nullopt when more are needed; kInvalid when
// that is no HTTP.
Result<std::optional<RequestHead>> ReadRequestHead(std::string_view bytes);

}  // namespace gantry::http
