// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Characters and numbers as Go's strconv and utf8 write them.
namespace gantry::nfd {

constexpr char32_t kLastLetter = 0x10ffff;
constexpr char32_t kNoLetter = 0xfffd;  // replaces an invalid one

// The character at `at` of a UTF-8 string; moves `at` behind it. kNoLetter, of one byte, if no
// character begins there. `at` is in the string.
char32_t TakeLetter(std::string_view text, size_t& at);
// Writes kNoLetter for a number that is not a character.
void AppendLetter(char32_t letter, std::string& text);
char32_t LetterOf(long long number);
size_t CountLetters(std::string_view text);
std::string_view FirstLetters(std::string_view text, size_t count);
// Whether Go writes it unescaped within quotes.
bool IsPrintable(char32_t letter);

// In double quotes, with escapes. `ascii`: escapes every other character too.
std::string Quoted(std::string_view text, bool ascii = false);
std::string QuotedLetter(char32_t letter, bool ascii);
// Whether a string can be written in backquotes, where nothing can be escaped.
bool FitsBackquotes(std::string_view text);

// strconv.FormatFloat of 64 bits. The verb is one of e f g x b; for g and x, precision -1 means the
// fewest digits that parse back to the number.
std::string FloatText(double number, char verb, int precision);

}  // namespace gantry::nfd
