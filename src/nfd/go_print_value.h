// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "nfd/go_template_value.h"

// One value as Go's fmt prints it.
namespace gantry::nfd {

inline constexpr int kWidest = 1'000'000;  // fmt's own limit of a width or precision

struct PrintFlags {
  bool sharp = false;
  bool zero = false;
  bool plus = false;
  bool minus = false;
  bool space = false;
  bool go_syntax = false;  // %#v
  std::optional<int> width;
  std::optional<int> precision;
};

// The name of its Go type. splitList makes a list of strings; `list` makes a list of anything.
std::string TypeOf(const Value& value);

// A string that is being written.
class ValuePrinter {
 public:
  // Adds the value as the verb and the flags print it.
  void Print(const Value& value, char32_t verb);
  // Whether the string has reached its maximum length; what is added then is ignored.
  [[nodiscard]] bool Full() const;

  std::string out;
  PrintFlags flags;

 private:
  void Fill(int count, char with);
  void FillWidth(int count);
  void Pad(std::string_view text);
  void PadWithBlanks(std::string_view text);
  [[nodiscard]] std::string_view Cut(std::string_view text) const;
  void PutText(std::string_view text);
  void Mismatch(const Value& value, char32_t verb);
  void PrintInteger(const Value& value, long long number, char32_t verb);
  static std::string Digits(uint64_t number, unsigned base, bool capitals);
  static void ZerosBefore(std::string& digits, int count);
  void PutInteger(long long number, unsigned base, char32_t verb);
  void PutUnicode(uint64_t number);
  void PrintFloat(const Value& value, double number, char32_t verb);
  void PutFloat(double number, char verb, int precision, bool capitals);
  static void KeepZeros(std::string& text, char verb, int digits);
  void PrintText(const Value& value, const std::string& text, char32_t verb);
  void PutQuoted(std::string_view text);
  void PutBytes(std::string_view bytes, bool capitals);
  void PrintList(const Value::List& list, char32_t verb);
  void PrintMap(const Value::Map& map, char32_t verb);
  void PrintWithin(const Value& value, char32_t verb);
};

}  // namespace gantry::nfd
