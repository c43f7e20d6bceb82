// SPDX-License-Identifier: Apache-2.0
// Where are the items of a list response? Found without building the list: five hundred nodes are
// eight megabytes of text, and some eighty as JSON values. The scanner only follows strings, braces
// and brackets; the receiver parses each item. The array is the value of the key "items" of the
// outermost object, at any position.
#include "kube/list_scanner.h"

namespace gantry::kube {
namespace {

// The outermost object is depth 1, its items array 2; an item is everything deeper.
constexpr int kListDepth = 1;
constexpr int kItemsDepth = 2;

}  // namespace

void ListScanner::Feed(std::string_view piece) {
  for (const char c : piece) {
    Step(c);
  }
}

void ListScanner::Keep(char c) {
  if (in_items_ && depth_ >= kItemsDepth) {
    // Only commas and white space separate items.
    if (depth_ > kItemsDepth) {
      text_ += c;
    }
  } else {
    envelope_ += c;
  }
}

void ListScanner::Step(char c) {
  if (!in_string_) {
    StepOutsideString(c);
    return;
  }
  Keep(c);
  if (escaped_) {
    escaped_ = false;
  } else if (c == '\\') {
    escaped_ = true;
  } else if (c == '"') {
    in_string_ = false;
    return;
  }
  if (depth_ == kListDepth) {
    last_string_ += c;
  }
}

void ListScanner::StepOutsideString(char c) {
  switch (c) {
    case '"':
      in_string_ = true;
      last_string_.clear();
      Keep(c);
      break;
    case '{':
    case '[':
      if (depth_ == kListDepth && c == '[' && last_string_ == "items") {
        Keep(c);
        in_items_ = true;
        ++depth_;
        break;
      }
      ++depth_;
      Keep(c);
      break;
    case '}':
    case ']':
      if (in_items_ && depth_ == kItemsDepth) {
        in_items_ = false;
      }
      Keep(c);
      --depth_;
      if (in_items_ && depth_ == kItemsDepth) {
        item_(text_);
        text_.clear();
      }
      break;
    default:
      Keep(c);
  }
}

void LineScanner::Feed(std::string_view piece) {
  while (true) {
    const size_t end = piece.find('\n');
    if (end == std::string_view::npos) {
      rest_ += piece;
      return;
    }
    if (rest_.empty()) {
      if (end > 0) {
        line_(piece.substr(0, end));
      }
    } else {
      rest_ += piece.substr(0, end);
      line_(rest_);
      rest_.clear();
    }
    piece.remove_prefix(end + 1);
  }
}

}  // namespace gantry::kube
