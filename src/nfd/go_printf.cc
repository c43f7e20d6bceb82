// SPDX-License-Identifier: Apache-2.0
// What does Go's fmt make of a format and its arguments? The rules are those of its documentation
// (pkg.go.dev/fmt), those for mistakes among them: a format never fails, it says in its text what
// is wrong with it.
#include "nfd/go_printf.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/text.h"
#include "nfd/go_template_value.h"
#include "nfd/go_text.h"

namespace gantry::nfd {
namespace {

constexpr int kWidest = 1'000'000;  // fmt's own limit of a width or precision

struct Flags {
  bool sharp = false;
  bool zero = false;
  bool plus = false;
  bool minus = false;
  bool space = false;
  bool go_syntax = false;  // %#v
  std::optional<int> width;
  std::optional<int> precision;
};

// A list of texts is what splitList makes; `list` makes one of anything.
std::string TypeOf(const Value& value) {
  if (std::holds_alternative<bool>(value.is)) {
    return "bool";
  }
  if (NumberOf(value) != nullptr) {
    return "int";
  }
  if (FloatOf(value) != nullptr) {
    return "float64";
  }
  if (TextOf(value) != nullptr) {
    return "string";
  }
  if (const Value::List* list = ListOf(value)) {
    const bool texts = !list->empty() && std::ranges::all_of(*list, [](const Value& element) {
      return TextOf(element) != nullptr;
    });
    return texts ? "[]string" : "[]interface {}";
  }
  return MapOf(value) != nullptr ? "map[string]string" : "<nil>";
}

// One text that is being written.
class Printer {
 public:
  std::string out;

  void Print(const Value& value, char32_t verb) {
    if (Full()) {
      return;
    }
    if (std::holds_alternative<std::monostate>(value.is)) {
      verb == 'v' || verb == 'T' ? Pad("<nil>") : Mismatch(value, verb);
    } else if (verb == 'T') {
      PutText(TypeOf(value));
    } else if (const bool* flag = std::get_if<bool>(&value.is)) {
      verb == 't' || verb == 'v' ? Pad(*flag ? "true" : "false") : Mismatch(value, verb);
    } else if (const long long* number = NumberOf(value)) {
      PrintInteger(value, *number, verb);
    } else if (const double* fraction = FloatOf(value)) {
      PrintFloat(value, *fraction, verb);
    } else if (const std::string* text = TextOf(value)) {
      PrintText(value, *text, verb);
    } else if (verb == 'w') {  // of errors alone
      Mismatch(value, verb);
    } else if (const Value::List* list = ListOf(value)) {
      PrintList(*list, verb);
    } else if (const Value::Map* map = MapOf(value)) {
      PrintMap(*map, verb);
    }
  }

  [[nodiscard]] bool Full() const { return out.size() > kLongestText; }

  Flags flags;

 private:
  void Fill(int count, char with) {
    const size_t room = kLongestText + 1 - std::min(out.size(), kLongestText + 1);
    out.append(std::min(static_cast<size_t>(std::max(count, 0)), room), with);
  }

  // Zeros stand only to the left.
  void FillWidth(int count) { Fill(count, flags.zero && !flags.minus ? '0' : ' '); }

  void Pad(std::string_view text) {
    const int missing = flags.width.value_or(0) - static_cast<int>(CountLetters(text));
    if (!flags.minus) {
      FillWidth(missing);
    }
    out += text;
    if (flags.minus) {
      FillWidth(missing);
    }
  }

  void PadWithBlanks(std::string_view text) {
    const bool zero = std::exchange(flags.zero, false);
    Pad(text);
    flags.zero = zero;
  }

  [[nodiscard]] std::string_view Cut(std::string_view text) const {
    return flags.precision.has_value() ? FirstLetters(text, static_cast<size_t>(*flags.precision))
                                       : text;
  }

  void PutText(std::string_view text) { Pad(Cut(text)); }

  void Mismatch(const Value& value, char32_t verb) {
    out += "%!";
    AppendLetter(verb, out);
    out += '(';
    if (std::holds_alternative<std::monostate>(value.is)) {
      out += "<nil>";
    } else {
      out += TypeOf(value) + '=';
      Print(value, 'v');
    }
    out += ')';
  }

  void PrintInteger(const Value& value, long long number, char32_t verb) {
    switch (verb) {
      case 'v':
      case 'd':
        return PutInteger(number, 10, verb);
      case 'b':
        return PutInteger(number, 2, verb);
      case 'o':
      case 'O':
        return PutInteger(number, 8, verb);
      case 'x':
      case 'X':
        return PutInteger(number, 16, verb);
      case 'c': {
        std::string letter;
        AppendLetter(LetterOf(number), letter);
        return Pad(letter);
      }
      case 'q':
        return Pad(QuotedLetter(LetterOf(number), flags.plus));
      case 'U':
        return PutUnicode(static_cast<uint64_t>(number));
      default:
        Mismatch(value, verb);
    }
  }

  static std::string Digits(uint64_t number, unsigned base, bool capitals) {
    std::string digits;
    do {
      digits += (capitals ? "0123456789ABCDEF" : "0123456789abcdef")[number % base];
      number /= base;
    } while (number > 0);
    std::ranges::reverse(digits);
    return digits;
  }

  static void ZerosBefore(std::string& digits, int count) {
    const auto wanted = std::min(static_cast<size_t>(std::max(count, 0)), kLongestText);
    digits.insert(0, wanted > digits.size() ? wanted - digits.size() : 0, '0');
  }

  void PutInteger(long long number, unsigned base, char32_t verb) {
    const bool negative = number < 0;
    const uint64_t size =
        negative ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
    if (flags.precision == 0 && size == 0) {
      return PadWithBlanks("");
    }
    std::string digits = Digits(size, base, verb == 'X');
    if (flags.precision.has_value()) {
      ZerosBefore(digits, *flags.precision);
    } else if (flags.zero && !flags.minus && flags.width.has_value()) {
      ZerosBefore(digits, *flags.width - (negative || flags.plus || flags.space ? 1 : 0));
    }
    if (flags.sharp && (base != 8 || digits.front() != '0')) {
      digits.insert(0, base == 2     ? "0b"
                       : base == 8   ? "0"
                       : base == 10  ? ""
                       : verb == 'X' ? "0X"
                                     : "0x");
    }
    digits.insert(0, verb == 'O' ? "0o" : "");
    digits.insert(0, negative ? "-" : flags.plus ? "+" : flags.space ? " " : "");
    PadWithBlanks(digits);
  }

  void PutUnicode(uint64_t number) {
    std::string text = Digits(number, 16, true);
    ZerosBefore(text, std::max(flags.precision.value_or(4), 4));
    text.insert(0, "U+");
    if (flags.sharp && number <= kLastLetter && IsPrintable(static_cast<char32_t>(number))) {
      text += " '";
      AppendLetter(static_cast<char32_t>(number), text);
      text += '\'';
    }
    PadWithBlanks(text);
  }

  void PrintFloat(const Value& value, double number, char32_t verb) {
    switch (verb) {
      case 'v':
        return PutFloat(number, 'g', -1, false);
      case 'b':
      case 'g':
      case 'x':
        return PutFloat(number, static_cast<char>(verb), -1, false);
      case 'G':
        return PutFloat(number, 'g', -1, true);
      case 'X':
        return PutFloat(number, 'x', -1, true);
      case 'e':
      case 'f':
        return PutFloat(number, static_cast<char>(verb), 6, false);
      case 'E':
        return PutFloat(number, 'e', 6, true);
      case 'F':
        return PutFloat(number, 'f', 6, false);
      default:
        Mismatch(value, verb);
    }
  }

  void PutFloat(double number, char verb, int precision, bool capitals) {
    precision = std::min(flags.precision.value_or(precision), static_cast<int>(kLongestText));
    std::string text = FloatText(number, verb, precision);
    if (capitals) {
      std::ranges::transform(text, text.begin(), [](char letter) {
        return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
      });
    }
    if (text[0] != '-' && text[0] != '+') {
      text.insert(0, 1, '+');
    }
    const bool finite = text[1] != 'I' && text[1] != 'N';
    if (flags.sharp && verb != 'b' && finite) {
      // %X counts no digits.
      KeepZeros(text, verb, verb == 'g' || (verb == 'x' && !capitals) ? precision : 0);
    }
    const bool sign = flags.plus || text[0] != '+' || flags.space;
    if (flags.space && text[0] == '+' && !flags.plus) {
      text[0] = ' ';
    }
    if (!finite) {  // an infinite one has its sign always
      return PadWithBlanks(std::string_view(text).substr(sign || text[1] == 'I' ? 0 : 1));
    }
    const int size = static_cast<int>(text.size());
    if (sign && flags.zero && !flags.minus && flags.width.value_or(0) > size) {
      out += text[0];
      FillWidth(*flags.width - size);
      out += std::string_view(text).substr(1);
      return;
    }
    Pad(std::string_view(text).substr(sign ? 0 : 1));
  }

  // The flag '#': a point always, and the zeros behind it up to so many digits. `text` has a sign.
  static void KeepZeros(std::string& text, char verb, int digits) {
    digits = digits < 0 ? 6 : digits;
    const size_t end = std::min(text.find(verb == 'x' ? 'p' : 'e'),
                                std::min(text.find_first_of("EP"), text.size()));
    const std::string tail = text.substr(end);
    text.resize(end);
    bool counts = false;
    for (const char letter : std::string_view(text).substr(1)) {
      counts |= letter != '0' && letter != '.';
      digits -= counts && letter != '.' ? 1 : 0;
    }
    if (!text.contains('.')) {
      digits -= text.size() == 2 && text[1] == '0' ? 1 : 0;
      text += '.';
    }
    text.append(static_cast<size_t>(std::max(digits, 0)), '0');
    text += tail;
  }

  void PrintText(const Value& value, const std::string& text, char32_t verb) {
    switch (verb) {
      case 'v':
        return flags.go_syntax ? PutQuoted(text) : PutText(text);
      case 's':
        return PutText(text);
      case 'q':
        return PutQuoted(text);
      case 'x':
      case 'X':
        return PutBytes(text, verb == 'X');
      default:
        Mismatch(value, verb);
    }
  }

  void PutQuoted(std::string_view text) {
    text = Cut(text);
    Pad(flags.sharp && FitsBackquotes(text) ? format("`{}`", text) : Quoted(text, flags.plus));
  }

  void PutBytes(std::string_view bytes, bool capitals) {
    bytes = bytes.substr(0, static_cast<size_t>(flags.precision.value_or(kWidest)));
    const std::string_view mark = flags.sharp ? (capitals ? "0X" : "0x") : "";
    std::string text;
    for (const char byte : bytes) {
      text += text.empty() || flags.space ? format("{}{}", text.empty() ? "" : " ", mark) : "";
      text += (capitals ? "0123456789ABCDEF"
                        : "0123456789abcdef")[static_cast<unsigned char>(byte) >> 4U];
      text += (capitals ? "0123456789ABCDEF"
                        : "0123456789abcdef")[static_cast<unsigned char>(byte) & 0xfU];
    }
    Pad(text);
  }

  void PrintList(const Value::List& list, char32_t verb) {
    out += flags.go_syntax ? TypeOf({std::make_shared<const Value::List>(list)}) + "{" : "[";
    for (const Value& element : list) {
      out += &element == list.data() ? "" : (flags.go_syntax ? ", " : " ");
      PrintWithin(element, verb);
    }
    out += flags.go_syntax ? '}' : ']';
  }

  void PrintMap(const Value::Map& map, char32_t verb) {
    out += flags.go_syntax ? "map[string]string{" : "map[";
    bool first = true;
    for (const auto& [key, value] : map) {
      out += std::exchange(first, false) ? "" : (flags.go_syntax ? ", " : " ");
      Print(Of(std::string(key)), verb);
      out += ':';
      PrintWithin(value, verb);
    }
    out += flags.go_syntax ? '}' : ']';
  }

  // An element that is nothing has no verb that does not fit it.
  void PrintWithin(const Value& value, char32_t verb) {
    if (std::holds_alternative<std::monostate>(value.is)) {
      out += flags.go_syntax ? "interface {}(nil)" : "<nil>";
    } else {
      Print(value, verb);
    }
  }
};

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
    Flags& flags = printer_.flags;
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
    Flags& flags = printer_.flags;
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

  // Digits at the place; a number that is far too large ends the format.
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

  // "[2]": which argument comes next. Whether there is one.
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
    Flags& flags = printer_.flags;
    flags.width = NumberArgument();
    if (!flags.width.has_value()) {
      printer_.out += "%!(BADWIDTH)";
    } else if (*flags.width < 0) {
      flags.width = -*flags.width;
      flags.minus = true;
      flags.zero = false;
    }
  }

  // Behind the point; whether an index stands before the verb.
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
  Printer printer_;
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
