// SPDX-License-Identifier: Apache-2.0
// How does Go's fmt print one value with a verb and its flags? A verb that does not fit is reported
// in the output (pkg.go.dev/fmt).
#include "nfd/go_print_value.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "nfd/go_text.h"

namespace gantry::nfd {

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

void ValuePrinter::Print(const Value& value, char32_t verb) {
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

bool ValuePrinter::Full() const { return out.size() > kLongestText; }

void ValuePrinter::Fill(int count, char with) {
  const size_t room = kLongestText + 1 - std::min(out.size(), kLongestText + 1);
  out.append(std::min(static_cast<size_t>(std::max(count, 0)), room), with);
}

// Zeros pad only on the left.
void ValuePrinter::FillWidth(int count) { Fill(count, flags.zero && !flags.minus ? '0' : ' '); }

void ValuePrinter::Pad(std::string_view text) {
  const int missing = flags.width.value_or(0) - static_cast<int>(CountLetters(text));
  if (!flags.minus) {
    FillWidth(missing);
  }
  out += text;
  if (flags.minus) {
    FillWidth(missing);
  }
}

void ValuePrinter::PadWithBlanks(std::string_view text) {
  const bool zero = std::exchange(flags.zero, false);
  Pad(text);
  flags.zero = zero;
}

std::string_view ValuePrinter::Cut(std::string_view text) const {
  return flags.precision.has_value() ? FirstLetters(text, static_cast<size_t>(*flags.precision))
                                     : text;
}

void ValuePrinter::PutText(std::string_view text) { Pad(Cut(text)); }

void ValuePrinter::Mismatch(const Value& value, char32_t verb) {
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

void ValuePrinter::PrintInteger(const Value& value, long long number, char32_t verb) {
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

std::string ValuePrinter::Digits(uint64_t number, unsigned base, bool capitals) {
  std::string digits;
  do {
    digits += (capitals ? "0123456789ABCDEF" : "0123456789abcdef")[number % base];
    number /= base;
  } while (number > 0);
  std::ranges::reverse(digits);
  return digits;
}

void ValuePrinter::ZerosBefore(std::string& digits, int count) {
  const auto wanted = std::min(static_cast<size_t>(std::max(count, 0)), kLongestText);
  digits.insert(0, wanted > digits.size() ? wanted - digits.size() : 0, '0');
}

void ValuePrinter::PutInteger(long long number, unsigned base, char32_t verb) {
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

void ValuePrinter::PutUnicode(uint64_t number) {
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

void ValuePrinter::PrintFloat(const Value& value, double number, char32_t verb) {
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

void ValuePrinter::PutFloat(double number, char verb, int precision, bool capitals) {
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
  if (!finite) {  // infinity always has its sign
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

// The flag '#': always a point, and trailing zeros up to that many digits. `text` has a sign.
void ValuePrinter::KeepZeros(std::string& text, char verb, int digits) {
  digits = digits < 0 ? 6 : digits;
  const size_t end =
      std::min(text.find(verb == 'x' ? 'p' : 'e'), std::min(text.find_first_of("EP"), text.size()));
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

void ValuePrinter::PrintText(const Value& value, const std::string& text, char32_t verb) {
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

void ValuePrinter::PutQuoted(std::string_view text) {
  text = Cut(text);
  Pad(flags.sharp && FitsBackquotes(text) ? format("`{}`", text) : Quoted(text, flags.plus));
}

void ValuePrinter::PutBytes(std::string_view bytes, bool capitals) {
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

void ValuePrinter::PrintList(const Value::List& list, char32_t verb) {
  out += flags.go_syntax ? TypeOf({std::make_shared<const Value::List>(list)}) + "{" : "[";
  for (const Value& element : list) {
    out += &element == list.data() ? "" : (flags.go_syntax ? ", " : " ");
    PrintWithin(element, verb);
  }
  out += flags.go_syntax ? '}' : ']';
}

void ValuePrinter::PrintMap(const Value::Map& map, char32_t verb) {
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

// A nil element fits every verb.
void ValuePrinter::PrintWithin(const Value& value, char32_t verb) {
  if (std::holds_alternative<std::monostate>(value.is)) {
    out += flags.go_syntax ? "interface {}(nil)" : "<nil>";
  } else {
    Print(value, verb);
  }
}

}  // namespace gantry::nfd
