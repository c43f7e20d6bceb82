// SPDX-License-Identifier: Apache-2.0
// What a response looks like on the wire.
#include "http/reply.h"

#include <string_view>

#include "base/text.h"
#include "http/gzip.h"

namespace gantry::http {
namespace {

constexpr size_t kWorthCompressing = 256;

std::string_view Phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    default:
      return "Service Unavailable";
  }
}

}  // namespace

std::string FormatReply(const Response& response, const ReplyForm& form) {
  const std::string& text = response.shared ? response.shared->text() : response.body;
  const bool compress = form.gzip && form.with_body && text.size() >= kWorthCompressing;
  const std::string packed = compress && !response.shared ? Gzip(text) : std::string();
  const std::string& body = !compress ? text : response.shared ? response.shared->gzip() : packed;
  std::string reply =
      format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n", response.status,
             Phrase(response.status), response.content_type, body.size());
  if (compress) {
    reply += "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n";
  }
  if (response.status == 401) {
    reply += "WWW-Authenticate: Basic\r\n";
  }
  for (const auto& [name, value] : response.headers) {
    reply += format("{}: {}\r\n", name, value);
  }
  for (const auto& [name, value] : form.headers) {
    reply += format("{}: {}\r\n", name, value);
  }
  reply += form.keep_alive ? "\r\n" : "Connection: close\r\n\r\n";
  if (form.with_body) {
    reply += body;
  }
  return reply;
}

}  // namespace gantry::http
