// SPDX-License-Identifier: Apache-2.0
#include "kube/token.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_folder.h"

namespace gantry::kube {
namespace {

class TokenTest : public testing::Test {
 protected:
  // Exchanged as the kubelet does.
  void Write(const std::string& text) const {
    std::ofstream(directory_ / "new") << text;
    std::filesystem::rename(directory_ / "new", directory_ / "token");
  }
  [[nodiscard]] Config FromFile() const {
    Config config;
    config.token_file = directory_ / "token";
    return config;
  }

  const TempFolder temporary_;
  const std::filesystem::path directory_ = temporary_.path();
};

TEST_F(TokenTest, IsReadAgainWhenTheFileIsAnother) {
  Write("one\n");
  Token token(FromFile());
  EXPECT_EQ(token.Now(), "one");
  Write("two");
  EXPECT_EQ(token.Now(), "two");
}

TEST_F(TokenTest, TheLastOneStaysWhileTheFileIsAwayOrEmpty) {
  Token token(FromFile());
  EXPECT_EQ(token.Now().error().kind, ErrorKind::kDenied);
  Write("one");
  EXPECT_EQ(token.Now(), "one");
  Write("");
  EXPECT_EQ(token.Now(), "one");
  std::filesystem::remove(directory_ / "token");
  EXPECT_EQ(token.Now(), "one");
}

TEST_F(TokenTest, ARefusedOneIsReadAgainEvenIfTheFileLooksTheSame) {
  Write("one");
  Token token(FromFile());
  EXPECT_EQ(token.Now(), "one");
  EXPECT_FALSE(token.Refresh("one"));
  const auto time = std::filesystem::last_write_time(directory_ / "token");
  std::ofstream(directory_ / "token") << "two";
  std::filesystem::last_write_time(directory_ / "token", time);
  EXPECT_EQ(token.Now(), "one");
  EXPECT_TRUE(token.Refresh("one"));
  EXPECT_EQ(token.Now(), "two");
}

TEST_F(TokenTest, AFixedOneStandsInForAFileThatIsAway) {
  Config config = FromFile();
  config.token = "fixed";
  Token token(config);
  EXPECT_EQ(token.Now(), "fixed");
  Write("one");
  EXPECT_EQ(token.Now(), "one");
}

TEST_F(TokenTest, ARefusedOneIsAskedForAnew) {
  Config config;
  config.token = "one";
  int asked = 0;
  config.renew_token = [&asked]() -> Result<std::string> {
    ++asked;
    return asked == 1 ? Result<std::string>("two") : Fail(ErrorKind::kUnavailable, "no");
  };
  Token token(config);
  EXPECT_TRUE(token.Refresh("one"));
  EXPECT_EQ(token.Now(), "two");
  // Another thread's call was refused with the old one too.
  EXPECT_TRUE(token.Refresh("one"));
  EXPECT_EQ(asked, 1);
  EXPECT_FALSE(token.Refresh("two"));
  EXPECT_EQ(token.Now(), "two");
}

TEST_F(TokenTest, AFixedOneStays) {
  Config config;
  config.token = "fixed";
  Token token(config);
  EXPECT_EQ(token.Now(), "fixed");
  EXPECT_FALSE(token.Refresh("fixed"));
}

}  // namespace
}  // namespace gantry::kube
