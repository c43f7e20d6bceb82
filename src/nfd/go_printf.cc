// SPDX-License-Identifier: Apache-2.0
// How does Go's fmt print a format and its arguments? By the rules of its documentation
// (pkg.go.dev/fmt), also for mistakes: a format never fails, its output says what is wrong with it.
#include "nfd/go_printf.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/text.h"
#include "nfd/go_print_value.h"
#include "nfd/go_template_value.h"
#include "nfd/go_text.h"

namespace gantry::nfd {
namespace {

// A format with its arguments.
class Formatter {
 public:
  Formatter(std::string_view pattern, std::span<const Value> arguments)
      : pattern_(pattern), arguments_(arguments) {}

  std::string Run() {
    while (at_ < pattern_.size() && !printer_.Full()) {
      const size_t percent = std::min(pattern_.find('%', at_), pattern_.size());
      printer_.out += pattern_.substr(at_, percent - at_);
      at_ = percent + 1;
      if (percent < pattern_.size()) {
        RunVerb();
      }
    }
    if (!reordered_ && next_ < arguments_.size() && !printer_.Full()) {
      PrintExtra();
    }
    return std::move(printer_.out);
  }

 private:
  void RunVerb() {
    printer_.flags = {};
    good_index_ = true;
    ReadFlags();
    bool indexed = ReadIndex();
    if (Take('*')) {
      ReadWidthArgument();
      indexed = false;
    } else {
      printer_.flags.width = ReadNumber();
      good_index_ &= !(indexed && printer_.flags.width.has_value());
    }
    if (at_ + 1 < pattern_.size() && Take('.')) {
      good_index_ &= !indexed;
      indexed = ReadPrecision();
    }
    if (!indexed) {
      ReadIndex();
    }
    if (at_ >= pattern_.size()) {
      printer_.out += "%!(NOVERB)";
      return;
    }
    PrintNext(TakeLetter(pattern_, at_));
  }

  void PrintNext(char32_t verb) {
    PrintFlags& flags = printer_.flags;
    if (verb == '%') {
      printer_.out += '%';
    } else if (!good_index_ || next_ >= arguments_.size()) {
      printer_.out += "%!";
      AppendLetter(verb, printer_.out);
      printer_.out += good_index_ ? "(MISSING)" : "(BADINDEX)";
    } else {
      if (verb == 'v' || verb == 'w') {
        flags.go_syntax = std::exchange(flags.sharp, false);
        flags.plus = false;
      }
      printer_.Print(arguments_[next_++], verb);
    }
  }

  void PrintExtra() {
    printer_.flags = {};
    printer_.out += "%!(EXTRA ";
    for (size_t i = next_; i < arguments_.size(); ++i) {
      printer_.out += i > next_ ? ", " : "";
      printer_.out += TypeOf(arguments_[i]);
      if (!std::holds_alternative<std::monostate>(arguments_[i].is)) {
        printer_.out += '=';
        printer_.Print(arguments_[i], 'v');
      }
    }
    printer_.out += ')';
  }

  bool Take(char letter) {
    const bool there = at_ < pattern_.size() && pattern_[at_] == letter;
    at_ += there ? 1 : 0;
    return there;
  }

  void ReadFlags() {
    PrintFlags& flags = printer_.flags;
    for (; at_ < pattern_.size(); ++at_) {
      switch (pattern_[at_]) {
        case '#':
          flags.sharp = true;
          break;
        case '0':
          flags.zero = true;
          break;
        case '+':
          flags.plus = true;
          break;
        case '-':
          flags.minus = true;
          break;
        case ' ':
          flags.space = true;
          break;
        default:
          return;
      }
    }
  }

  // Digits at this position; a number that is far too large ends the format.
  std::optional<int> ReadNumber() { return ReadNumber(pattern_.size()); }
  std::optional<int> ReadNumber(size_t end) {
    std::optional<int> number;
    for (; at_ < end && pattern_[at_] >= '0' && pattern_[at_] <= '9'; ++at_) {
      if (number.value_or(0) > kWidest) {
        at_ = end;
        return std::nullopt;
      }
      number = number.value_or(0) * 10 + (pattern_[at_] - '0');
    }
    return number;
  }

  // "[2]": the index of the next argument. Returns whether there is one.
  bool ReadIndex() {
    if (at_ >= pattern_.size() || pattern_[at_] != '[') {
      return false;
    }
    reordered_ = true;
    const size_t close = pattern_.find(']', at_);
    if (close == std::string_view::npos || at_ + 3 > pattern_.size()) {
      good_index_ = false;
      ++at_;
      return false;
    }
    ++at_;
    const std::optional<int> index = ReadNumber(close);
    const bool read = index.has_value() && at_ == close;
    at_ = close + 1;
    if (read && *index >= 1 && static_cast<size_t>(*index) <= arguments_.size()) {
      next_ = static_cast<size_t>(*index) - 1;
      return true;
    }
    good_index_ = false;
    return read;
  }

  // The next argument as a width or precision.
  std::optional<int> NumberArgument() {
    if (next_ >= arguments_.size()) {
      return std::nullopt;
    }
    const long long* number = NumberOf(arguments_[next_++]);
    return number != nullptr && *number >= -kWidest && *number <= kWidest
               ? std::optional(static_cast<int>(*number))
               : std::nullopt;
  }

  void ReadWidthArgument() {
    PrintFlags& flags = printer_.flags;
    flags.width = NumberArgument();
    if (!flags.width.has_value()) {
      printer_.out += "%!(BADWIDTH)";
    } else if (*flags.width < 0) {
      flags.width = -*flags.width;
      flags.minus = true;
      flags.zero = false;
    }
  }

  // After the point; whether an index precedes the verb.
  bool ReadPrecision() {
    const bool indexed = ReadIndex();
    if (!Take('*')) {
      printer_.flags.precision = ReadNumber().value_or(0);
      return indexed;
    }
    printer_.flags.precision = NumberArgument();
    if (printer_.flags.precision.value_or(-1) < 0) {
      printer_.flags.precision = std::nullopt;
      printer_.out += "%!(BADPREC)";
    }
    return false;
  }

  std::string_view pattern_;
  std::span<const Value> arguments_;
  ValuePrinter printer_;
  size_t at_ = 0;
  size_t next_ = 0;  // argument
  bool reordered_ = false;
  bool good_index_ = true;
};

}  // namespace

std::string PrintFormatted(std::string_view pattern, std::span<const Value> arguments) {
  return Formatter(pattern, arguments).Run();
}

}  // namespace gantry::nfd
