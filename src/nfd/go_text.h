// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Letters and numbers as Go's strconv and utf8 write them.
namespace gantry::nfd {

constexpr char32_t kLastLetter = 0x10ffff;
constexpr char32_t kNoLetter = 0xfffd;  // stands for what is none

// The letter at `at` of a text in UTF-8, and moves on behind it; kNoLetter, of one byte, where none
// begins. `at` is in the text.
char32_t TakeLetter(std::string_view text, size_t& at);
// Writes kNoLetter for a number that stands for no letter.
void AppendLetter(char32_t letter, std::string& text);
char32_t LetterOf(long long number);
size_t CountLetters(std::string_view text);
std::string_view FirstLetters(std::string_view text, size_t count);
// Whether it is written as itself within quotes.
bool IsPrintable(char32_t letter);

// In double quotes, with escapes. `ascii`: every other letter as an escape too.
std::string Quoted(std::string_view text, bool ascii = false);
std::string QuotedLetter(char32_t letter, bool ascii);
// Whether a text can stand in backquotes, where nothing can be escaped.
bool FitsBackquotes(std::string_view text);

// strconv.FormatFloat of 64 bits. The verb is one of e f g x b; for g and x a precision of -1 is as
// many digits as give the number back.
std::string FloatText(double number, char verb, int precision);

}  // namespace gantry::nfd
