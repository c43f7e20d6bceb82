// SPDX-License-Identifier: Apache-2.0
#include "container/cri_starts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::container {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

std::string Number(int number, uint64_t value) {
  std::string bytes(1, static_cast<char>(number << 3));
  for (; value > 0x7F; value >>= 7) {
    bytes += static_cast<char>((value & 0x7F) | 0x80);
  }
  return bytes + static_cast<char>(value);
}

std::string Text(int number, const std::string& content) {
  return static_cast<char>(number << 3 | 2) + std::string(1, static_cast<char>(content.size())) +
         content;
}

const WallTime kNow = WallTime(seconds(1'800'000'000));
constexpr uint64_t kNowNs = 1'800'000'000'000'000'000;

CriSandbox Pod(const std::string& id, seconds age, bool ready = true) {
  return {.id = id, .pod = "default/" + id, .ready = ready, .created = kNow - age, .handler = ""};
}

CriContainer Container(const std::string& pod, seconds age, bool started) {
  return {.name = "main", .sandbox_id = pod, .started = started, .created = kNow - age};
}

TEST(CriStarts, ListsAreRead) {
  const std::string metadata = Text(1, "pod") + Text(2, "uid") + Text(3, "space") + Number(4, 1);
  const auto sandboxes = ParseCriSandboxes(
      Text(1, Text(1, "a") + Text(2, metadata) + Number(4, kNowNs) + Text(5, "label") +
                  Text(7, "nvidia")) +
      Text(1, Text(1, "b") + Number(3, 1) + Number(4, kNowNs)) + Text(2, "unknown"));
  ASSERT_TRUE(sandboxes.has_value());
  EXPECT_THAT(
      *sandboxes,
      ElementsAre(
          CriSandbox{
              .id = "a", .pod = "space/pod", .ready = true, .created = kNow, .handler = "nvidia"},
          CriSandbox{.id = "b", .pod = "", .ready = false, .created = kNow, .handler = ""}));

  const auto containers = ParseCriContainers(
      Text(1, Text(1, "c") + Text(2, "a") + Text(3, Text(1, "main") + Number(2, 3)) +
                  Text(4, "image") + Number(7, kNowNs)) +
      Text(1, Text(2, "a") + Number(6, 1)) + Text(1, Text(2, "a") + Number(6, 2)));
  ASSERT_TRUE(containers.has_value());
  ASSERT_EQ(containers->size(), 3);
  EXPECT_EQ(containers->at(0),
            (CriContainer{.name = "main", .sandbox_id = "a", .started = false, .created = kNow}));
  EXPECT_TRUE(containers->at(1).started) << "it runs";
  EXPECT_TRUE(containers->at(2).started) << "it ended";
}

TEST(CriStarts, NothingRuns) {
  EXPECT_THAT(*ParseCriSandboxes(""), IsEmpty());
  EXPECT_THAT(*ParseCriContainers(""), IsEmpty());
  EXPECT_THAT(StartsUnderWay({}, {}, kNow), IsEmpty());
}

TEST(CriStarts, BrokenLists) {
  EXPECT_EQ(ParseCriSandboxes(std::string("\x0a\x7f", 2)).error().kind, ErrorKind::kInternal);
  EXPECT_EQ(ParseCriContainers("\xff").error().kind, ErrorKind::kInternal);
}

TEST(CriStarts, WhatIsUnderWay) {
  struct Row {
    std::string what;
    std::vector<CriSandbox> sandboxes;
    std::vector<CriContainer> containers;
    std::vector<std::string> starts;
  };
  const std::vector<Row> rows = {
      {"made and not started",
       {Pod("a", seconds(9))},
       {Container("a", seconds(1), false)},
       {"default/a main"}},
      {"it runs, or ended", {Pod("a", seconds(1))}, {Container("a", seconds(1), true)}, {}},
      {"made and left so", {Pod("a", seconds(9))}, {Container("a", kStartTakes, false)}, {}},
      {"the next one beside one that runs",
       {Pod("a", seconds(3))},
       {Container("a", seconds(2), true), Container("a", seconds(0), false)},
       {"default/a main"}},
      {"of a pod that is not listed any more", {}, {Container("a", seconds(1), false)}, {"main"}},
      {"a sandbox before its first container", {Pod("a", seconds(1))}, {}, {"default/a"}},
      {"a sandbox that waits for an image", {Pod("a", kStartTakes)}, {}, {}},
      {"a sandbox that ended", {Pod("a", seconds(1), false)}, {}, {}},
      {"two at once",
       {Pod("a", seconds(1)), Pod("b", seconds(1))},
       {Container("b", seconds(1), false)},
       {"default/a", "default/b main"}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(StartsUnderWay(row.sandboxes, row.containers, kNow), row.starts) << row.what;
  }
}

}  // namespace
}  // namespace gantry::container
