// SPDX-License-Identifier: Apache-2.0
#include "kube/list_scanner.h"

#include <gmock/gmock.h>

#include "base/json.h"

namespace gantry::kube {
namespace {

constexpr char kList[] = R"( {"kind":"NodeList","metadata":{"items":["no"],"continue":"c"},
 "items" : [ {"a":"]}\"","items":[{"b":1}]} , {"metadata":{}}, {"c":["x\\"]} ],"after":[1]} )";

struct Seen {
  std::vector<std::string> items;
  std::string envelope;
};

Seen Scan(std::string_view text, size_t piece) {
  Seen seen;
  ListScanner scanner([&seen](std::string_view item) { seen.items.emplace_back(item); });
  for (size_t at = 0; at < text.size(); at += piece) {
    scanner.Feed(text.substr(at, piece));
  }
  seen.envelope = scanner.envelope();
  return seen;
}

TEST(ListScanner, CutsItemsWhateverThePieces) {
  for (const size_t piece : {1U, 2U, 3U, 7U, 1000U}) {
    const Seen seen = Scan(kList, piece);
    EXPECT_THAT(seen.items, testing::ElementsAre(R"({"a":"]}\"","items":[{"b":1}]})",
                                                 R"({"metadata":{}})", R"({"c":["x\\"]})"));
    const Json envelope = ParseJson(seen.envelope).value();
    EXPECT_EQ(TextAt(envelope, "metadata.continue"), "c");
    EXPECT_TRUE(envelope.at("items").empty());
    EXPECT_EQ(envelope.at("after").size(), 1U);
  }
}

TEST(ListScanner, ListsWithoutItems) {
  EXPECT_TRUE(Scan(R"({"items":[],"metadata":{}})", 4).items.empty());
  EXPECT_TRUE(Scan(R"({"items":null,"x":[{"y":1}]})", 4).items.empty());
}

TEST(ListScanner, WhatIsCutShortIsNoEnvelope) {
  EXPECT_FALSE(ParseJson(Scan(R"({"items":[{"a":1},{"b")", 4).envelope).has_value());
}

TEST(LineScanner, CutsLinesWhateverThePieces) {
  for (const size_t piece : {1U, 2U, 5U, 100U}) {
    std::vector<std::string> lines;
    LineScanner scanner([&lines](std::string_view line) { lines.emplace_back(line); });
    const std::string_view text = "one\n\ntwo\nthree";
    for (size_t at = 0; at < text.size(); at += piece) {
      scanner.Feed(text.substr(at, piece));
    }
    EXPECT_THAT(lines, testing::ElementsAre("one", "two"));
  }
}

}  // namespace
}  // namespace gantry::kube
