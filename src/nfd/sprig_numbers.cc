// SPDX-License-Identifier: Apache-2.0
// What do Sprig's functions on numbers return? Integers wrap around on overflow, as in Go.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "base/text.h"
#include "nfd/go_template_functions.h"
#include "nfd/go_template_lexer.h"
#include "nfd/go_template_value.h"

namespace gantry::nfd {
namespace {

// 0 if it is not a number.
double FractionOf(const Value& value) {
  if (const double* fraction = FloatOf(value)) {
    return *fraction;
  }
  if (const std::string* text = TextOf(value)) {
    double fraction = 0;
    const char* end = text->data() + text->size();
    const auto [last, error] =
        std::from_chars(text->data() + (text->starts_with('+') ? 1 : 0), end, fraction);
    return error == std::errc() && last == end ? fraction : 0;
  }
  return static_cast<double>(IntegerOf(value));
}

// Rounds to so many decimal places; 0.5, or the given fraction, rounds up.
Result<Value> Round(const Arguments& of) {
  const double half = of.size() > 2 ? FractionOf(of[2]) : 0.5;
  const double power = std::pow(10, static_cast<double>(*NumberOf(of[1])));
  const double digits = power * FractionOf(of[0]);
  double whole = 0;
  const bool up = std::modf(digits, &whole) >= half;
  return Of((up ? std::ceil(digits) : std::floor(digits)) / power);
}

Result<Value> Until(const Arguments& of) {
  constexpr long long kMostNumbers = 100'000;
  const long long count = *NumberOf(of[0]);
  if (std::abs(count) > kMostNumbers) {
    return CannotDo("until: too many numbers");
  }
  Value::List list;
  for (long long i = 0; i != count; i += count < 0 ? -1 : 1) {
    list.push_back(Of(i));
  }
  return Of(std::move(list));
}

Result<Value> Atoi(const Arguments& of) {
  std::string_view text = TextAt(of, 0);
  text.remove_prefix(text.starts_with('+') ? 1 : 0);
  long long number = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  if (last == end && error == std::errc::result_out_of_range) {
    using Limits = std::numeric_limits<long long>;
    return Of(text.starts_with('-') ? Limits::min() : Limits::max());
  }
  return Of(last == end && error == std::errc() ? number : 0LL);
}

template <typename Operation>
Result<Value> Fold(const Arguments& of, const Operation& operation) {
  long long result = of.empty() ? 0 : IntegerOf(of[0]);
  for (size_t i = 1; i < of.size(); ++i) {
    result = static_cast<long long>(
        operation(static_cast<uint64_t>(result), static_cast<uint64_t>(IntegerOf(of[i]))));
  }
  return Of(result);
}

struct Quotient {
  long long whole;
  long long rest;
};
Result<Quotient> Divide(const Arguments& of) {
  const long long left = IntegerOf(of[0]);
  const long long right = IntegerOf(of[1]);
  if (right == 0) {
    return CannotDo("division by zero");
  }
  if (right == -1) {  // the smallest number has no counterpart
    return Quotient{static_cast<long long>(0 - static_cast<uint64_t>(left)), 0};
  }
  return Quotient{left / right, left % right};
}

template <typename Better>
Result<Value> Best(const Arguments& of, const Better& better) {
  long long best = IntegerOf(of[0]);
  for (const Value& value : of) {
    best = better(IntegerOf(value), best) ? IntegerOf(value) : best;
  }
  return Of(best);
}

using Done = Result<Value>;
constexpr auto kNumbers = std::to_array<Function>({
    {"int", "v", [](const Arguments& of) -> Done { return Of(IntegerOf(of[0])); }},
    {"int64", "v", [](const Arguments& of) -> Done { return Of(IntegerOf(of[0])); }},
    {"float64", "v", [](const Arguments& of) -> Done { return Of(FractionOf(of[0])); }},
    {"floor", "v", [](const Arguments& of) -> Done { return Of(std::floor(FractionOf(of[0]))); }},
    {"ceil", "v", [](const Arguments& of) -> Done { return Of(std::ceil(FractionOf(of[0]))); }},
    {"round", "viv*", Round},
    {"until", "i", Until},
    {"atoi", "t", Atoi},
    {"add", "v*", [](const Arguments& of) { return Fold(of, std::plus<uint64_t>()); }},
    {"add1", "v",
     [](const Arguments& of) { return Fold({of[0], Of(1LL)}, std::plus<uint64_t>()); }},
    {"sub", "vv", [](const Arguments& of) { return Fold(of, std::minus<uint64_t>()); }},
    {"mul", "vv*", [](const Arguments& of) { return Fold(of, std::multiplies<uint64_t>()); }},
    {"div", "vv",
     [](const Arguments& of) -> Done {
       TRY_ASSIGN(const Quotient quotient, Divide(of));
       return Of(quotient.whole);
     }},
    {"mod", "vv",
     [](const Arguments& of) -> Done {
       TRY_ASSIGN(const Quotient quotient, Divide(of));
       return Of(quotient.rest);
     }},
    {"max", "vv*", [](const Arguments& of) { return Best(of, std::greater<long long>()); }},
    {"biggest", "vv*", [](const Arguments& of) { return Best(of, std::greater<long long>()); }},
    {"min", "vv*", [](const Arguments& of) { return Best(of, std::less<long long>()); }},
});

}  // namespace

// A string may have a sign, a base prefix, and a point followed only by zeros.
long long IntegerOf(const Value& value) {
  if (const long long* number = NumberOf(value)) {
    return *number;
  }
  if (const bool* flag = std::get_if<bool>(&value.is)) {
    return *flag ? 1 : 0;
  }
  if (const double* fraction = FloatOf(value)) {
    constexpr double kEnd = 9223372036854775808.0;
    return *fraction >= -kEnd && *fraction < kEnd ? static_cast<long long>(*fraction)
                                                  : std::numeric_limits<long long>::min();
  }
  std::string text = TextOf(value) == nullptr ? "" : *TextOf(value);
  if (const size_t point = text.find('.');
      text.ends_with('0') && text.find_last_not_of('0') == point) {
    text.resize(std::min(point, text.size()));
  }
  const std::optional<Value> number = ParseNumber(std::move(text));
  const long long* whole = number.has_value() ? NumberOf(*number) : nullptr;
  return whole == nullptr ? 0 : *whole;
}

std::span<const Function> SprigNumbers() { return kNumbers; }

}  // namespace gantry::nfd
