// SPDX-License-Identifier: Apache-2.0
// How is a number written so that it reads back the same? As Go's strconv.FormatFloat(x, 'g', -1,
// 64): the fewest digits, with an exponent from 1e6 on and below 1e-4.
#include "operands/metrics_exporter/number_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/text.h"

namespace gantry::metrics_exporter {
namespace {

std::string Shortest(double number) {
  std::array<char, 64> buffer{};
  const auto scientific = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                        std::chars_format::scientific);
  const std::string text(buffer.data(), scientific.ptr);
  const int exponent = std::atoi(text.c_str() + text.find('e') + 1);
  if (exponent < -4 || exponent >= 6) {
    return text;
  }
  const auto fixed =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::fixed);
  return {buffer.data(), fixed.ptr};
}

}  // namespace

std::string NumberText(double number, NumberForm form, bool whole) {
  if (form == NumberForm::kFixed) {
    return whole ? format("{:.0f}", number) : format("{:f}", number);
  }
  return Shortest(number);
}

}  // namespace gantry::metrics_exporter
