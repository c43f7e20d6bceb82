// SPDX-License-Identifier: Apache-2.0
// Reading a runtime's answer; the call itself is tested against a real containerd
// (tests/component/test_container_toolkit.py).
#include "container/cri_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::container {
namespace {

using testing::ElementsAre;

std::string Field(int number, const std::string& content) {
  return static_cast<char>(number << 3 | 2) + std::string(1, static_cast<char>(content.size())) +
         content;
}

TEST(CriStatus, ConditionsAndHandlers) {
  const std::string yes("\x10\x01", 2);
  const std::string message =
      Field(1, Field(1, Field(1, "NetworkReady")) + Field(1, Field(1, "RuntimeReady") + yes)) +
      Field(2, Field(1, "info")) + Field(3, Field(1, "")) + Field(3, Field(1, "nvidia")) +
      Field(4, yes);
  const auto status = ParseCriStatus(message);
  ASSERT_TRUE(status.has_value());
  EXPECT_TRUE(status->ready);
  EXPECT_THAT(status->handlers, ElementsAre("nvidia"));
}

// containerd before 2.0 names no handlers, but prints the configuration that it runs with.
TEST(CriStatus, HandlersOfAnOlderContainerd) {
  const auto info = [](const std::string& key, const std::string& value) {
    return Field(2, Field(1, key) + Field(2, value));
  };
  const std::string config = R"({"containerd":{"runtimes":{"nvidia":{},"runc":{}}}})";
  EXPECT_THAT(ParseCriStatus(info("golang", "\"go1.24\"") + info("config", config))->handlers,
              ElementsAre("nvidia", "runc"));
  EXPECT_THAT(ParseCriStatus(info("config", config) + Field(3, Field(1, "kata")))->handlers,
              ElementsAre("kata"));
  EXPECT_THAT(ParseCriStatus(info("config", "{"))->handlers, testing::IsEmpty());
  EXPECT_THAT(ParseCriStatus(info("config", "[1]"))->handlers, testing::IsEmpty());
}

TEST(CriStatus, NetworkAloneIsNotReady) {
  const std::string yes("\x10\x01", 2);
  EXPECT_FALSE(ParseCriStatus(Field(1, Field(1, Field(1, "NetworkReady") + yes)))->ready);
  EXPECT_FALSE(ParseCriStatus(Field(1, Field(1, Field(1, "RuntimeReady"))))->ready);
}

TEST(CriStatus, BrokenMessage) {
  EXPECT_FALSE(ParseCriStatus(std::string("\x0a\x7f", 2)).has_value());
  EXPECT_FALSE(ParseCriStatus("\xff").has_value());
}

TEST(CriStatus, NobodyListens) {
  EXPECT_EQ(AskCriStatus("/no/such/socket", std::chrono::seconds(1)).error().kind,
            ErrorKind::kNotFound);
}

}  // namespace
}  // namespace gantry::container
