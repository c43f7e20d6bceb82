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
  bool spaced = false;  // white space stands before it
};

// A number as Go writes it: a base before the digits, a line between them, a fraction. Nothing for
// another text.
std::optional<Value> ParseNumber(std::string text);

// Texts and the tokens of actions, in order.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  // kInvalid, with the line that has been reached.
  [[nodiscard]] std::unexpected<Error> Wrong(std::string_view what) const;
  // The text up to the next action, which is entered; false at the end of the template.
  bool Text(std::string& text);
  // Whether the action is a comment; it is left then.
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
  bool trim_ = false;  // white space after the last action goes
};

}  // namespace gantry::nfd
