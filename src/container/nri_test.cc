// SPDX-License-Identifier: Apache-2.0
// What a container runtime's NRI sends, byte by byte, and what it gets back.
#include "container/nri.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::container {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string Text(char tag, const std::string& bytes) {
  return std::string{tag, static_cast<char>(bytes.size())} + bytes;
}

// A message of ttrpc in one frame; shorter than 128 bytes in all, so that each length is one byte.
std::string Message(char stream, char id, char type, const std::string& payload) {
  const std::string message = std::string("\0\0\0", 3) + static_cast<char>(payload.size()) +
                              std::string("\0\0\0", 3) + id + type + '\0' + payload;
  return std::string("\0\0\0", 3) + stream + std::string("\0\0\0", 3) +
         static_cast<char>(message.size()) + message;
}

std::string Call(const std::string& method, const std::string& request, char id = 3) {
  return Message(1, id, 1,
                 Text('\x0a', "nri.Plugin") + Text('\x12', method) + Text('\x1a', request));
}

std::string Reply(const std::string& payload, char id = 3) {
  return Message(1, id, 2, Text('\x12', payload));
}

// CreateContainerRequest of container "main" in pod "ns/pod" with one annotation.
std::string CreateRequest() {
  const std::string annotation = Text('\x0a', "key") + Text('\x12', "a=b");
  return Text('\x0a', Text('\x0a', "id") + Text('\x12', "pod") + Text('\x22', "ns") +
                          Text('\x32', annotation)) +
         Text('\x12', Text('\x0a', "id") + Text('\x1a', "main"));
}

class NriTest : public testing::Test {
 protected:
  NriSession session_{"toolkit", "10", [this](const NriContainer& container) {
                        asked_ = container;
                        return devices_;
                      }};
  NriContainer asked_;
  std::vector<std::string> devices_ = {"v/c=0"};
};

TEST_F(NriTest, HelloRegistersThePlugin) {
  EXPECT_EQ(session_.Hello(),
            Message(2, 1, 1,
                    Text('\x0a', "nri.pkg.api.v1alpha1.Runtime") + Text('\x12', "RegisterPlugin") +
                        Text('\x1a', Text('\x0a', "toolkit") + Text('\x12', "10"))));
  EXPECT_EQ(session_.Take(Message(2, 1, 2, "")).value(), "") << "taken";
}

TEST_F(NriTest, ARefusalIsToldInTheRuntimesWords) {
  const auto refused = session_.Take(
      Message(2, 1, 2, Text('\x0a', std::string("\x08\x02", 2) + Text('\x12', "no room"))));
  EXPECT_EQ(refused.error().kind, ErrorKind::kDenied);
  EXPECT_THAT(refused.error().message, HasSubstr("no room"));
}

TEST_F(NriTest, OnlyContainersThatAreMadeAreAskedFor) {
  EXPECT_FALSE(session_.configured());
  EXPECT_EQ(session_.Take(Call("Configure", "")).value(), Reply(std::string("\x10\x08", 2)));
  EXPECT_TRUE(session_.configured());
  EXPECT_EQ(session_.Take(Call("Synchronize", std::string("\x18\x01", 2))).value(),
            Reply(std::string("\x10\x01", 2)))
      << "more parts are to come";
  EXPECT_EQ(session_.Take(Call("Shutdown", "")).value(), Reply(""));
}

TEST_F(NriTest, DevicesOfAContainer) {
  const std::string wanted = Reply(Text('\x0a', Text('\x42', Text('\x0a', "v/c=0"))), 5);
  EXPECT_EQ(session_.Take(Call("CreateContainer", CreateRequest(), 5)).value(), wanted);
  EXPECT_EQ(asked_.name, "main");
  EXPECT_EQ(asked_.pod_name, "pod");
  EXPECT_EQ(asked_.pod_namespace, "ns");
  EXPECT_THAT(asked_.pod_annotations, ElementsAre(Pair("key", "a=b")));
}

TEST_F(NriTest, InWhateverPiecesItComes) {
  const std::string bytes = Call("CreateContainer", CreateRequest(), 5) + Call("Shutdown", "", 7);
  std::string answers;
  for (const char byte : bytes) {
    answers += session_.Take({&byte, 1}).value();
  }
  EXPECT_EQ(answers, Reply(Text('\x0a', Text('\x42', Text('\x0a', "v/c=0"))), 5) + Reply("", 7));
}

TEST_F(NriTest, AnAnswerIsCutIntoFramesThatTheRuntimeCanRead) {
  devices_ = {std::string(5000, 'x')};
  const std::string answer = session_.Take(Call("CreateContainer", CreateRequest())).value();
  EXPECT_EQ(answer.substr(0, 8), std::string("\0\0\0\1\0\0\x10\0", 8)) << "4096 bytes";
  EXPECT_EQ(answer.substr(8 + 4096, 4), std::string("\0\0\0\1", 4));
}

TEST_F(NriTest, WhatIsNotKnownIsRefusedAndGoesOn) {
  EXPECT_THAT(session_.Take(Call("OfTomorrow", "")).value(), HasSubstr("OfTomorrow is not known"));
  EXPECT_EQ(session_.Take(Message(9, 1, 1, "?")).value(), "") << "an unknown stream";
  EXPECT_EQ(session_.Take(Call("Shutdown", "")).value(), Reply(""));
}

TEST_F(NriTest, WhatIsNoNriEndsTheSession) {
  EXPECT_EQ(session_.Take("HTTP/1.1 400 Bad Request").error().kind, ErrorKind::kInvalid);
  NriSession other("a", "00", [](const NriContainer&) { return std::vector<std::string>{}; });
  EXPECT_EQ(other.Take(Message(1, 3, 1, "\x0a\x7f cut")).error().kind, ErrorKind::kInvalid);
}

}  // namespace
}  // namespace gantry::container
