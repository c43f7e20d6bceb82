// SPDX-License-Identifier: Apache-2.0
#include "http/reply.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>

#include "http/gzip.h"

namespace gantry::http {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

TEST(Reply, ClosesTheConnectionUnlessItStaysOpen) {
  EXPECT_EQ(FormatReply({.body = "ok\n"}, {}),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n"
            "Connection: close\r\n\r\nok\n");
  EXPECT_EQ(FormatReply({.body = "ok\n"}, {.keep_alive = true}),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n"
            "\r\nok\n");
}

TEST(Reply, WithoutABodySaysHowLongItWouldBe) {
  EXPECT_THAT(FormatReply({.body = std::string(1000, 'x')}, {.with_body = false, .gzip = true}),
              AllOf(HasSubstr("Content-Length: 1000\r\n"), EndsWith("\r\n\r\n")));
}

TEST(Reply, CompressesWhatIsWorthIt) {
  const std::string large = FormatReply({.body = std::string(1000, 'x')}, {.gzip = true});
  EXPECT_THAT(large, HasSubstr("Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n"));
  EXPECT_LT(large.size(), 300U);
  EXPECT_THAT(FormatReply({.body = "ok\n"}, {.gzip = true}), Not(HasSubstr("gzip")));
  EXPECT_THAT(FormatReply({.body = std::string(1000, 'x')}, {}), Not(HasSubstr("gzip")));
}

TEST(Reply, ASharedTextIsTheBody) {
  const auto shared = std::make_shared<const SharedBody>(std::string(1000, 'x'));
  const Response response{.body = "", .headers = {}, .shared = shared};
  const Response own{.body = shared->text()};
  for (const bool gzip : {false, true}) {
    EXPECT_EQ(FormatReply(response, {.gzip = gzip}), FormatReply(own, {.gzip = gzip}));
  }
  EXPECT_EQ(&shared->gzip(), &shared->gzip());
  EXPECT_EQ(shared->gzip(), Gzip(shared->text()));
}

TEST(Reply, NamesTheSchemeOfThePasswordAndTheHeadersThatWereSet) {
  EXPECT_THAT(FormatReply({.body = "ok\n", .headers = {{"X-Reload-In-Progress", "false"}}}, {}),
              HasSubstr("\r\nX-Reload-In-Progress: false\r\n"));
  EXPECT_THAT(FormatReply({.status = 401, .body = ""}, {.headers = {{"X-Frame-Options", "deny"}}}),
              AllOf(HasSubstr("HTTP/1.1 401 Unauthorized\r\n"),
                    HasSubstr("\r\nWWW-Authenticate: Basic\r\n"),
                    HasSubstr("\r\nX-Frame-Options: deny\r\n")));
}

}  // namespace
}  // namespace gantry::http
