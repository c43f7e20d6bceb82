// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "nfd/go_template.h"

namespace gantry::nfd {

struct Token {
  enum class Kind { kEnd, kWord, kField, kDot, kVariable, kText, kNumber, kSign } kind = Kind::kEnd;
  std::string text;
  bool spaced = false;  // white space precedes it
};

// A number as Go writes it: with a base prefix, underscores between digits, a fraction. Nothing if
// it is not a number.
std::optional<Value> ParseNumber(std::string text);

// Text and the tokens of actions, in order.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  // kInvalid, with the current line.
  [[nodiscard]] std::unexpected<Error> Wrong(std::string_view what) const;
  // The text up to the next action, which is then entered; false at the end of the template.
  bool Text(std::string& text);
  // Whether the action is a comment, which is then skipped.
  Result<bool> SkipComment();
  // The next token of the action; kEnd leaves it.
  Result<Token> Next();

 private:
  [[nodiscard]] char Ahead(size_t by) const;
  void Name(std::string& name);
  [[nodiscard]] bool BeginsNumber(char letter) const;
  void NumberRest(std::string& number);
  Result<Token> Letter(Token token);
  bool LeaveAction();
  Result<Token> QuotedText(Token token);

  std::string_view text_;
  size_t at_ = 0;
  bool trim_ = false;  // white space after the last action is removed
};

}  // namespace gantry::nfd
