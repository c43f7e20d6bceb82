// SPDX-License-Identifier: Apache-2.0
// What are the tokens of a Go template?
#include "nfd/go_template_lexer.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "nfd/go_template_value.h"
#include "nfd/go_text.h"

namespace gantry::nfd {
namespace {

bool IsSpace(char letter) { return std::isspace(static_cast<unsigned char>(letter)) != 0; }
bool IsNameStart(char letter) {
  return std::isalpha(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}
bool IsDigit(char letter) { return letter >= '0' && letter <= '9'; }
bool IsName(char letter) {
  return IsNameStart(letter) || std::isdigit(static_cast<unsigned char>(letter)) != 0;
}

std::optional<Value> ParseFraction(const std::string& text) {
  double fraction = 0;
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(begin, end, fraction);
  return error == std::errc() && last == end ? std::optional(Of(fraction)) : std::nullopt;
}

}  // namespace

std::optional<Value> ParseNumber(std::string text) {
  std::erase(text, '_');
  const size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  int base = 10;
  std::string digits = text.substr(sign);
  static constexpr std::pair<std::string_view, int> kBases[] = {
      {"0x", 16}, {"0X", 16}, {"0b", 2}, {"0B", 2}, {"0o", 8}, {"0O", 8}, {"0", 8}};
  if (text.find_first_of(".eE") != std::string::npos && !digits.starts_with("0x") &&
      !digits.starts_with("0X")) {
    return ParseFraction(text);
  }
  for (const auto& [prefix, of_prefix] : kBases) {
    if (digits.starts_with(prefix) && digits.size() > prefix.size()) {
      digits = digits.substr(prefix.size());
      base = of_prefix;
      break;
    }
  }
  digits.insert(0, text.starts_with('-') ? "-" : "");
  long long number = 0;
  const char* end = digits.data() + digits.size();
  const auto [last, error] = std::from_chars(digits.data(), end, number, base);
  return error == std::errc() && last == end ? std::optional(Of(number)) : std::nullopt;
}

std::unexpected<Error> Lexer::Wrong(std::string_view what) const {
  const auto line = 1 + std::ranges::count(text_.substr(0, std::min(at_, text_.size())), '\n');
  return Fail(ErrorKind::kInvalid, format("line {}: {}", line, what));
}

bool Lexer::Text(std::string& text) {
  const size_t open = text_.find("{{", at_);
  std::string_view part = text_.substr(at_, open == std::string_view::npos ? open : open - at_);
  at_ = open == std::string_view::npos ? text_.size() : open + 2;
  if (trim_) {
    part.remove_prefix(std::min(part.find_first_not_of(" \t\r\n"), part.size()));
    trim_ = false;
  }
  if (open != std::string_view::npos && at_ + 1 < text_.size() && text_[at_] == '-' &&
      IsSpace(text_[at_ + 1])) {
    ++at_;
    const size_t last = part.find_last_not_of(" \t\r\n");
    part = part.substr(0, last == std::string_view::npos ? 0 : last + 1);
  }
  text = part;
  return open != std::string_view::npos;
}

Result<bool> Lexer::SkipComment() {
  const size_t start = text_.find_first_not_of(" \t\r\n", at_);
  if (start == std::string_view::npos || text_.substr(start, 2) != "/*") {
    return false;
  }
  const size_t end = text_.find("*/", start + 2);
  if (end == std::string_view::npos) {
    return Wrong("unclosed comment");
  }
  at_ = end + 2;
  if (!LeaveAction()) {
    return Wrong("a comment must be all of its action");
  }
  return true;
}

Result<Token> Lexer::Next() {
  Token token;
  if (LeaveAction()) {
    return token;
  }
  while (at_ < text_.size() && IsSpace(text_[at_])) {
    ++at_;
    token.spaced = true;
  }
  if (at_ >= text_.size()) {
    return Wrong("unclosed action");
  }
  const char letter = text_[at_];
  if (letter == '"' || letter == '`') {
    return QuotedText(token);
  }
  if (letter == '\'') {
    return Letter(token);
  }
  if (BeginsNumber(letter)) {
    token.kind = Token::Kind::kNumber;
    token.text = text_[at_++];
    NumberRest(token.text);
  } else if (letter == '.' && !IsNameStart(Ahead(1))) {
    ++at_;
    token.kind = Token::Kind::kDot;
  } else if (letter == '.' || letter == '$') {
    token.kind = letter == '.' ? Token::Kind::kField : Token::Kind::kVariable;
    token.text = letter == '.' ? "" : "$";
    ++at_;
    Name(token.text);
  } else if (IsNameStart(letter)) {
    token.kind = Token::Kind::kWord;
    Name(token.text);
  } else {
    const bool declares = letter == ':' && Ahead(1) == '=';
    if (!declares && std::string_view("()|=,").find(letter) == std::string_view::npos) {
      return Wrong(format("unexpected \"{}\"", letter));
    }
    token.kind = Token::Kind::kSign;
    token.text = text_.substr(at_, declares ? 2 : 1);
    at_ += token.text.size();
  }
  return token;
}

char Lexer::Ahead(size_t by) const { return at_ + by < text_.size() ? text_[at_ + by] : '\0'; }

void Lexer::Name(std::string& name) {
  while (at_ < text_.size() && IsName(text_[at_])) {
    name += text_[at_++];
  }
}

bool Lexer::BeginsNumber(char letter) const {
  const bool sign = letter == '-' || letter == '+';
  const char first = sign ? Ahead(1) : letter;
  const char second = Ahead(sign ? 2 : 1);
  return IsDigit(first) || (first == '.' && IsDigit(second));
}

// "0x1F", "1_000", "1.5e-3": the characters of the number, whether or not they form one.
void Lexer::NumberRest(std::string& number) {
  while (at_ < text_.size()) {
    const char letter = text_[at_];
    const bool sign = (letter == '-' || letter == '+') && !number.contains('x') &&
                      (number.back() == 'e' || number.back() == 'E');
    if (!IsName(letter) && letter != '.' && !sign) {
      return;
    }
    number += text_[at_++];
  }
}

// 'a' is the number of the character.
Result<Token> Lexer::Letter(Token token) {
  const size_t begin = ++at_;
  size_t end = begin;
  if (begin >= text_.size() || text_[begin] == '\\' || text_[begin] == '\'') {
    return Wrong("unknown letter");
  }
  const char32_t letter = TakeLetter(text_, end);
  if (end >= text_.size() || text_[end] != '\'') {
    return Wrong("unclosed letter");
  }
  at_ = end + 1;
  token.kind = Token::Kind::kNumber;
  token.text = format("{}", static_cast<uint32_t>(letter));
  return token;
}

// At "}}", or at white space and "-}}".
bool Lexer::LeaveAction() {
  size_t at = at_;
  while (at < text_.size() && IsSpace(text_[at])) {
    ++at;
  }
  trim_ = at > at_ && text_.substr(at, 3) == "-}}";
  if (!trim_ && text_.substr(at, 2) != "}}") {
    return false;
  }
  at_ = at + (trim_ ? 3 : 2);
  return true;
}

Result<Token> Lexer::QuotedText(Token token) {
  token.kind = Token::Kind::kText;
  const char quote = text_[at_++];
  while (at_ < text_.size() && text_[at_] != quote) {
    char letter = text_[at_++];
    if (quote == '"' && letter == '\\' && at_ < text_.size()) {
      letter = text_[at_++];
      static constexpr std::string_view kEscapes = "n\nt\tr\r\"\"\\\\''";
      size_t escape = 0;
      while (escape < kEscapes.size() && kEscapes[escape] != letter) {
        escape += 2;
      }
      if (escape >= kEscapes.size()) {
        return Wrong(format("unknown escape \"\\{}\"", letter));
      }
      letter = kEscapes[escape + 1];
    }
    token.text += letter;
  }
  if (at_ >= text_.size()) {
    return Wrong("unclosed text");
  }
  ++at_;
  return token;
}

}  // namespace gantry::nfd
