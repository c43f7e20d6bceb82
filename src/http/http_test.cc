// SPDX-License-Identifier: Apache-2.0
#include "http/http.h"

#include <gtest/gtest.h>

namespace gantry::http {
namespace {

TEST(ResponseReader, ChunksAreJoinedWhateverThePieces) {
  const std::string_view text =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n5\r\nhello\r\n1\r\n \r\n"
      "5\r\nworld\r\n0\r\n\r\n";
  for (const size_t piece : {1U, 2U, 3U, 10U, 1000U}) {
    std::string body;
    ResponseReader reader([&body](std::string_view part) { body += part; });
    for (size_t at = 0; at < text.size(); at += piece) {
      ASSERT_FALSE(reader.done());
      ASSERT_TRUE(reader.Feed(text.substr(at, piece)).has_value());
    }
    EXPECT_TRUE(reader.done());
    EXPECT_TRUE(reader.keep_alive());
    EXPECT_EQ(reader.status(), 200);
    EXPECT_EQ(body, "hello world");
  }
}

TEST(ResponseReader, TheHeadsFieldsAreRead) {
  ResponseReader reader([](std::string_view) {});
  ASSERT_TRUE(reader
                  .Feed("HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\nConnection: close\r\n"
                        "Content-Length: 0\r\n\r\n")
                  .has_value());
  EXPECT_TRUE(reader.done());
  EXPECT_EQ(reader.status(), 429);
  EXPECT_EQ(reader.retry_after(), "7");
  EXPECT_FALSE(reader.keep_alive());
}

TEST(ResponseReader, ALongBodyIsNoMistakeAndACutOneIs) {
  size_t size = 0;
  ResponseReader reader([&size](std::string_view part) { size += part.size(); });
  ASSERT_TRUE(reader.Feed("HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n").has_value());
  const std::string block(1'000'000, 'x');
  for (int i = 0; i < 19; ++i) {
    ASSERT_TRUE(reader.Feed(block).has_value());
  }
  EXPECT_FALSE(reader.done());
  EXPECT_EQ(reader.End().error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(size, 19'000'000U);
}

TEST(ResponseReader, ABodyMayEndWithTheConnection) {
  std::string body;
  ResponseReader reader([&body](std::string_view part) { body += part; });
  ASSERT_TRUE(reader.Feed("HTTP/1.1 200 OK\r\n\r\nabc").has_value());
  EXPECT_FALSE(reader.done());
  EXPECT_TRUE(reader.End().has_value());
  EXPECT_EQ(body, "abc");
}

TEST(ResponseReader, WhatIsNoHttpIsAnError) {
  ResponseReader reader([](std::string_view) {});
  EXPECT_FALSE(reader.Feed("\x15\x03\x01 not http\r\n\r\n").has_value());
  EXPECT_FALSE(ResponseReader([](std::string_view) {}).End().has_value());
}

TEST(RequestHead, IsReadWhenItIsWhole) {
  EXPECT_FALSE(ReadRequestHead("GET /metr").value().has_value());
  const RequestHead head =
      ReadRequestHead("GET /metrics?x=y HTTP/1.1\r\nHost: a\r\n\r\n").value().value();
  EXPECT_EQ(head.method, "GET");
  EXPECT_EQ(head.target, "/metrics?x=y");
  EXPECT_FALSE(ReadRequestHead("\x16\x03 hello\r\n\r\n").has_value());
}

}  // namespace
}  // namespace gantry::http
