// SPDX-License-Identifier: Apache-2.0
// How does Go write a character or a number?
#include "nfd/go_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "base/text.h"

namespace gantry::nfd {
namespace {

bool IsSurrogate(char32_t letter) { return letter >= 0xd800 && letter <= 0xdfff; }

// Characters that are not printable: controls, spaces except U+0020, and marks of direction.
constexpr std::pair<char32_t, char32_t> kUnprintable[] = {
    {0x00, 0x1f},     {0x7f, 0xa0},     {0xad, 0xad},     {0x0600, 0x0605},
    {0x061c, 0x061c}, {0x1680, 0x1680}, {0x180e, 0x180e}, {0x2000, 0x200f},
    {0x2028, 0x202f}, {0x205f, 0x206f}, {0x3000, 0x3000}, {0xd800, 0xf8ff},
    {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, kLastLetter}};

std::string Escaped(char32_t letter, char quote, bool ascii) {
  static constexpr std::string_view kEscapes = "\aa\bb\ff\nn\rr\tt\vv\\\\";
  std::string text;
  if (letter == static_cast<char32_t>(quote)) {
    return {'\\', quote};
  }
  for (size_t i = 0; i < kEscapes.size(); i += 2) {
    if (letter == static_cast<char32_t>(kEscapes[i])) {
      return {'\\', kEscapes[i + 1]};
    }
  }
  const auto code = static_cast<uint32_t>(letter);
  if (IsPrintable(letter) && (letter < 0x80 || !ascii)) {
    AppendLetter(letter, text);
    return text;
  }
  if (code < ' ' || code == 0x7f) {
    return format("\\x{:02x}", code);
  }
  return code < 0x10000 ? format("\\u{:04x}", code) : format("\\U{:08x}", code);
}

// As C writes it, which rounds as Go does.
std::string ByC(const char* pattern, int precision, double number) {
  std::string text(static_cast<size_t>(std::snprintf(nullptr, 0, pattern, precision, number)), ' ');
  std::snprintf(text.data(), text.size() + 1, pattern, precision, number);
  return text;
}

// The fewest digits that parse back to the number, without a sign, and the power of ten of the
// first.
struct Digits {
  std::string digits;
  int exponent = 0;
};
Digits Shortest(double number) {
  std::array<char, 64> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                                          std::abs(number), std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<size_t>(end - buffer.data()));
  const size_t e = text.find('e');
  Digits shortest{std::string(text.substr(0, e)), 0};
  std::erase(shortest.digits, '.');
  std::string_view exponent = text.substr(e + 1);
  exponent.remove_prefix(exponent.starts_with('+') ? 1 : 0);
  shortest.exponent = static_cast<int>(ParseInt(exponent).value_or(0));
  return shortest;
}

// %g as the fewest digits.
std::string ShortestText(double number) {
  const Digits shortest = Shortest(number);
  const int count = static_cast<int>(shortest.digits.size());
  return shortest.exponent < -4 || shortest.exponent >= 6
             ? ByC("%.*e", count - 1, number)
             : ByC("%.*f", std::max(count - 1 - shortest.exponent, 0), number);
}

// "0x1.8p+01": C's %a may begin with another digit than 1.
std::string HexText(double number, int precision) {
  constexpr unsigned kPoint = 60;  // bits behind the point
  constexpr uint64_t kOne = uint64_t{1} << kPoint;
  constexpr int kDigits = kPoint / 4;
  int exponent = 0;
  auto mantissa =
      static_cast<uint64_t>(std::ldexp(std::frexp(std::abs(number), &exponent), kPoint + 1));
  exponent = number == 0 ? 0 : exponent - 1;
  if (precision >= 0 && precision < kDigits) {  // to nearest, ties to even
    const auto cut = kPoint - 4 * static_cast<unsigned>(precision);
    const uint64_t rest = mantissa & ((uint64_t{1} << cut) - 1);
    const uint64_t half = uint64_t{1} << (cut - 1);
    mantissa >>= cut;
    mantissa += rest > half || (rest == half && (mantissa & 1U) != 0) ? 1 : 0;
    mantissa <<= cut;
    if (mantissa >= 2 * kOne) {
      mantissa /= 2;
      ++exponent;
    }
  }
  std::string digits;
  for (uint64_t rest = mantissa & (kOne - 1);
       precision < 0 ? rest != 0 : std::cmp_less(digits.size(), precision);
       rest = (rest << 4U) & (kOne - 1)) {
    digits += "0123456789abcdef"[rest >> (kPoint - 4)];
  }
  return format("{}0x{}{}{}p{}{:02}", std::signbit(number) ? "-" : "", mantissa / kOne,
                digits.empty() ? "" : ".", digits, exponent < 0 ? '-' : '+', std::abs(exponent));
}

std::string BinaryText(double number) {
  int exponent = 0;
  const double fraction = std::frexp(std::abs(number), &exponent);
  constexpr int kDigits = std::numeric_limits<double>::digits;
  constexpr int kLeast = std::numeric_limits<double>::min_exponent - kDigits;
  exponent = number == 0 ? kLeast : exponent - kDigits;
  const int shift = std::max(kLeast - exponent, 0);  // a subnormal number
  const auto mantissa = static_cast<uint64_t>(std::ldexp(fraction, kDigits - shift));
  return format("{}{}p{:+}", std::signbit(number) ? "-" : "", mantissa, exponent + shift);
}

}  // namespace

char32_t TakeLetter(std::string_view text, size_t& at) {
  const auto byte = [&text](size_t place) {
    return place < text.size() ? static_cast<unsigned char>(text[place]) : 0U;
  };
  const unsigned first = byte(at);
  const int more = first < 0x80   ? 0
                   : first < 0xc2 ? -1
                   : first < 0xe0 ? 1
                   : first < 0xf0 ? 2
                   : first < 0xf5 ? 3
                                  : -1;
  if (more <= 0) {
    ++at;
    return more == 0 ? first : kNoLetter;
  }
  char32_t letter = first & (0x3fU >> static_cast<unsigned>(more));
  for (int i = 1; i <= more; ++i) {
    const unsigned next = byte(at + static_cast<size_t>(i));
    if ((next & 0xc0U) != 0x80) {
      ++at;
      return kNoLetter;
    }
    letter = (letter << 6U) | (next & 0x3fU);
  }
  static constexpr std::array<char32_t, 4> kLeast = {0, 0x80, 0x800, 0x10000};
  if (letter < kLeast.at(static_cast<size_t>(more)) || letter > kLastLetter ||
      IsSurrogate(letter)) {
    ++at;
    return kNoLetter;
  }
  at += 1 + static_cast<size_t>(more);
  return letter;
}

void AppendLetter(char32_t letter, std::string& text) {
  auto code =
      static_cast<uint32_t>(letter > kLastLetter || IsSurrogate(letter) ? kNoLetter : letter);
  const auto put = [&text](uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    return put(code);
  }
  const unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static constexpr std::array<uint32_t, 4> kFirst = {0, 0xc0, 0xe0, 0xf0};
  put(kFirst.at(more) | (code >> (6 * more)));
  for (unsigned i = more; i > 0; --i) {
    put(0x80U | ((code >> (6 * (i - 1))) & 0x3fU));
  }
}

char32_t LetterOf(long long number) {
  return number < 0 || number > static_cast<long long>(kLastLetter) ? kNoLetter
                                                                    : static_cast<char32_t>(number);
}

size_t CountLetters(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) {
    TakeLetter(text, at);
  }
  return count;
}

std::string_view FirstLetters(std::string_view text, size_t count) {
  size_t at = 0;
  for (; at < text.size() && count > 0; --count) {
    TakeLetter(text, at);
  }
  return text.substr(0, at);
}

bool IsPrintable(char32_t letter) {
  return std::ranges::none_of(kUnprintable, [letter](const auto& range) {
    return letter >= range.first && letter <= range.second;
  });
}

std::string Quoted(std::string_view text, bool ascii) {
  std::string quoted = "\"";
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t letter = TakeLetter(text, at);
    const bool none = letter == kNoLetter && at == begin + 1;
    quoted += none ? format("\\x{:02x}", static_cast<unsigned char>(text[begin]))
                   : Escaped(letter, '"', ascii);
  }
  return quoted + '"';
}

std::string QuotedLetter(char32_t letter, bool ascii) {
  return format("'{}'", Escaped(IsSurrogate(letter) ? kNoLetter : letter, '\'', ascii));
}

bool FitsBackquotes(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t letter = TakeLetter(text, at);
    const bool none = letter == kNoLetter && at == begin + 1;
    if (none || letter == 0xfeff || (letter < ' ' && letter != '\t') || letter == '`' ||
        letter == 0x7f) {
      return false;
    }
  }
  return true;
}

std::string FloatText(double number, char verb, int precision) {
  if (std::isnan(number)) {
    return "NaN";
  }
  if (std::isinf(number)) {
    return number > 0 ? "+Inf" : "-Inf";
  }
  switch (verb) {
    case 'b':
      return BinaryText(number);
    case 'x':
      return HexText(number, precision);
    case 'e':
      return ByC("%.*e", precision, number);
    case 'f':
      return ByC("%.*f", precision, number);
    default:
      return precision < 0 ? ShortestText(number) : ByC("%.*g", precision, number);
  }
}

}  // namespace gantry::nfd
