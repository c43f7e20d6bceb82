// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 messages, parsed by Boost.Beast, which lives in this file alone: its headers take
// seconds in each file that includes them. Only Beast's parser is used, fed by hand; how bytes come
// and for how long one waits is decided by socket.cc.
#include "http/http.h"

// Beast 1.74 asserts five bytes where a first chunk that is the last may have come with three
// (basic_parser.ipp, parse_chunk_header); without the assertion it waits for more, as it should.
#define BOOST_DISABLE_ASSERTS

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <limits>

#include "base/text.h"

namespace gantry::http {

namespace beast = boost::beast::http;
using BeastError = boost::beast::error_code;
using BeastView = boost::beast::string_view;

struct ResponseReader::Parser final : beast::basic_parser<false> {
  explicit Parser(Body sink) : body(std::move(sink)) {
    eager(true);
    // Beast 1.74 takes "none" for nothing at all.
    body_limit(std::numeric_limits<std::uint64_t>::max());
    header_limit(64 * 1024);
  }

  void on_request_impl(beast::verb /*verb*/, BeastView /*method*/, BeastView /*target*/,
                       int /*version*/, BeastError& /*error*/) override {}
  void on_response_impl(int code, BeastView /*reason*/, int /*version*/,
                        BeastError& /*error*/) override {
    status = code;
  }
  void on_field_impl(beast::field field, BeastView /*name*/, BeastView value,
                     BeastError& /*error*/) override {
    if (field == beast::field::retry_after) {
      retry_after = std::string(value);
    }
  }
  void on_header_impl(BeastError& /*error*/) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/,
                         BeastError& /*error*/) override {}
  std::size_t on_body_impl(BeastView piece, BeastError& /*error*/) override {
    body(std::string_view(piece.data(), piece.size()));
    return piece.size();
  }
  void on_chunk_header_impl(std::uint64_t /*size*/, BeastView /*extensions*/,
                            BeastError& /*error*/) override {}
  std::size_t on_chunk_body_impl(std::uint64_t /*remain*/, BeastView piece,
                                 BeastError& /*error*/) override {
    body(std::string_view(piece.data(), piece.size()));
    return piece.size();
  }
  void on_finish_impl(BeastError& /*error*/) override {}

  const Body body;
  int status = 0;
  std::optional<std::string> retry_after;
};

ResponseReader::ResponseReader(Body body) : parser_(std::make_unique<Parser>(std::move(body))) {}
ResponseReader::~ResponseReader() = default;

Status ResponseReader::Feed(std::string_view bytes) {
  started_ = started_ || !bytes.empty();
  // What could not be parsed yet (half a head, half a chunk's size) is parsed again with more.
  if (!pending_.empty()) {
    pending_ += bytes;
    bytes = pending_;
  }
  while (!bytes.empty() && !parser_->is_done()) {
    BeastError error;
    const size_t used = parser_->put(boost::asio::buffer(bytes.data(), bytes.size()), error);
    bytes.remove_prefix(used);
    if (error == beast::error::need_more) {
      break;
    }
    if (error) {
      return Fail(ErrorKind::kUnavailable, format("read http answer: {}", error.message()));
    }
  }
  pending_ = std::string(bytes);
  return {};
}

Status ResponseReader::End() {
  BeastError error;
  if (parser_->got_some()) {
    parser_->put_eof(error);
  }
  if (error || !parser_->is_done()) {
    return Fail(ErrorKind::kUnavailable, "read http answer: connection closed");
  }
  return {};
}

bool ResponseReader::started() const { return started_; }
bool ResponseReader::done() const { return parser_->is_done(); }
int ResponseReader::status() const { return parser_->is_header_done() ? parser_->status : 0; }
bool ResponseReader::keep_alive() const {
  return parser_->is_header_done() && parser_->keep_alive();
}
std::optional<std::string> ResponseReader::retry_after() const { return parser_->retry_after; }

Result<std::optional<RequestHead>> ReadRequestHead(std::string_view bytes) {
  beast::request_parser<beast::empty_body> parser;
  BeastError error;
  const size_t size = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if (error == beast::error::need_more || (!error && !parser.is_header_done())) {
    return std::nullopt;
  }
  if (error) {
    return Fail(ErrorKind::kInvalid, format("read http request: {}", error.message()));
  }
  const auto text = [](BeastView view) { return std::string(view.data(), view.size()); };
  const auto& request = parser.get();
  // A body would have to be skipped before the next request.
  const bool has_body = parser.chunked() || parser.content_length_remaining().value_or(0) > 0;
  return RequestHead{.method = text(request.method_string()),
                     .target = text(request.target()),
                     .authorization = text(request[beast::field::authorization]),
                     .accept_encoding = text(request[beast::field::accept_encoding]),
                     .keep_alive = request.keep_alive() && !has_body,
                     .size = size};
}

}  // namespace gantry::http
