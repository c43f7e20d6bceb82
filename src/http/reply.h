// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "http/server.h"

namespace gantry::http {

struct ReplyForm {
  bool with_body = true;                            // HEAD: without
  bool gzip = false;                                // the client takes it
  bool keep_alive = false;                          // the connection stays open
  std::map<std::string, std::string> headers = {};  // besides those of HTTP
};

// A response as bytes of HTTP/1.1. Short bodies are not compressed.
std::string FormatReply(const Response& response, const ReplyForm& form);

}  // namespace gantry::http
