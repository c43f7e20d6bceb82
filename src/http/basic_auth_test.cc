// SPDX-License-Identifier: Apache-2.0
#include "http/basic_auth.h"

#include <gtest/gtest.h>

namespace gantry::http {
namespace {

TEST(BasicAuthorization, IsReadAsRfc7617HasIt) {
  const auto given = ReadBasicAuthorization("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
  ASSERT_TRUE(given.has_value());
  EXPECT_EQ(given->user, "Aladdin");
  EXPECT_EQ(given->password, "open sesame");
  EXPECT_EQ(ReadBasicAuthorization("bAsIc YTpiOmM=")->password, "b:c");
  EXPECT_EQ(ReadBasicAuthorization("Basic Og==")->user, "");
  for (const char* wrong : {"", "Basic", "Bearer YTpi", "Basic *", "Basic YQ=="}) {
    EXPECT_FALSE(ReadBasicAuthorization(wrong).has_value()) << wrong;
  }
}

// exporter-toolkit's own for "fakepassword" (web/handler.go), and "secret" at the smallest cost.
const PasswordBook::Users kUsers = {
    {"fake", "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"},
    {"a", "$2a$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"},
    {"b", "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"},
    {"y", "$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"}};

TEST(PasswordBook, ComparesWithBcrypt) {
  PasswordBook book;
  EXPECT_TRUE(book.Check(kUsers, {.user = "fake", .password = "fakepassword"}));
  for (const char* user : {"a", "b", "y"}) {
    EXPECT_TRUE(book.Check(kUsers, {.user = user, .password = "secret"})) << user;
    EXPECT_FALSE(book.Check(kUsers, {.user = user, .password = "Secret"})) << user;
    EXPECT_FALSE(book.Check(kUsers, {.user = user, .password = ""})) << user;
    EXPECT_FALSE(book.Check(kUsers, {.user = user, .password = std::string("secret\0x", 8)}));
  }
  // The password of the first user, which an unknown one is compared with.
  EXPECT_FALSE(book.Check(kUsers, {.user = "nobody", .password = "secret"}));
  EXPECT_FALSE(book.Check({}, {.user = "a", .password = "secret"}));
}

TEST(PasswordBook, RemembersWhatWasRightForThisUserAndHash) {
  PasswordBook book;
  const Credentials right{.user = "a", .password = "secret"};
  EXPECT_FALSE(book.Remembers(kUsers, right));
  EXPECT_FALSE(book.Check(kUsers, {.user = "a", .password = "wrong"}));
  EXPECT_FALSE(book.Remembers(kUsers, {.user = "a", .password = "wrong"}));
  EXPECT_TRUE(book.Check(kUsers, right));
  EXPECT_TRUE(book.Remembers(kUsers, right));
  EXPECT_FALSE(book.Remembers(kUsers, {.user = "b", .password = "secret"}));
  PasswordBook::Users changed = kUsers;
  changed["a"] = kUsers.at("b");
  EXPECT_FALSE(book.Remembers(changed, right));
  changed.erase("a");
  EXPECT_FALSE(book.Remembers(changed, right));
}

TEST(PasswordBook, ForgetsTheOldest) {
  PasswordBook book;
  PasswordBook::Users users;
  for (int i = 0; i < 17; ++i) {
    users[std::to_string(i)] = kUsers.at("a");
    EXPECT_TRUE(book.Check(users, {.user = std::to_string(i), .password = "secret"}));
  }
  EXPECT_FALSE(book.Remembers(users, {.user = "0", .password = "secret"}));
  EXPECT_TRUE(book.Remembers(users, {.user = "1", .password = "secret"}));
}

}  // namespace
}  // namespace gantry::http
