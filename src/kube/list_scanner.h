// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace gantry::kube {

// Cuts the JSON text of a list response into its items while it arrives, in pieces of any size.
class ListScanner {
 public:
  using Item = std::function<void(std::string_view text)>;

  explicit ListScanner(Item item) : item_(std::move(item)) {}
  void Feed(std::string_view piece);
  // The list without its items: {"kind":...,"metadata":{...},"items":[]}. Complete once the
  // response is.
  [[nodiscard]] const std::string& envelope() const { return envelope_; }

 private:
  void Step(char c);
  void StepOutsideString(char c);
  void Keep(char c);

  const Item item_;
  std::string envelope_;
  std::string text_;         // the item that is being read
  std::string last_string_;  // the newest string at depth 1: the key, when a colon or [ follows
  int depth_ = 0;
  bool in_items_ = false;
  bool in_string_ = false;
  bool escaped_ = false;
};

// Cuts a watch stream into lines, one event each.
class LineScanner {
 public:
  using Line = std::function<void(std::string_view text)>;

  explicit LineScanner(Line line) : line_(std::move(line)) {}
  void Feed(std::string_view piece);

 private:
  const Line line_;
  std::string rest_;
};

}  // namespace gantry::kube
