// SPDX-License-Identifier: Apache-2.0
// What Go itself writes stands in tests/golden/go_printf, whose make.go asks it.
#include "nfd/go_printf.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/json.h"
#include "nfd/go_template_value.h"

namespace gantry::nfd {
namespace {

Value FromJson(const Json& json) {
  if (json.is_boolean()) {
    return Of(json.get<bool>());
  }
  if (json.is_number_integer()) {
    return Of(json.get<long long>());
  }
  if (json.is_number()) {
    return Of(json.get<double>());
  }
  if (json.is_string()) {
    return Of(json.get<std::string>());
  }
  if (json.is_array()) {
    Value::List list;
    for (const Json& element : json) {
      list.push_back(FromJson(element));
    }
    return Of(std::move(list));
  }
  if (json.is_object()) {
    Value::Map map;
    for (const auto& [key, value] : json.items()) {
      map[key] = FromJson(value);
    }
    return {std::make_shared<const Value::Map>(std::move(map))};
  }
  return {};
}

TEST(Printf, WritesWhatGoWrites) {
  const char* more = std::getenv("GANTRY_PRINTF_CASES");  // a longer list, of make.go's
  std::ifstream file(more == nullptr ? "tests/golden/go_printf/cases.jsonl" : more);
  int count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const Json json = ParseJson(line).value();
    Value::List arguments;
    for (const Json& argument : json["arguments"]) {
      arguments.push_back(FromJson(argument));
    }
    EXPECT_EQ(PrintFormatted(json["format"].get<std::string>(), arguments),
              json["text"].get<std::string>())
        << line;
  }
  EXPECT_GE(count, 1000);
}

std::string Printed(std::string_view pattern, const Value::List& arguments) {
  return PrintFormatted(pattern, arguments);
}

// The rule of a public GPU control plane: "%02d" was refused without a word.
TEST(Printf, FlagsWidthAndPrecision) {
  EXPECT_EQ(Printed("slot.%02d", {Of(7LL)}), "slot.07");
  EXPECT_EQ(Printed("%5s|%-5s|%.2s",
                    {Of(std::string("a")), Of(std::string("b")), Of(std::string("cde"))}),
            "    a|b    |cd");
  EXPECT_EQ(
      Printed("%x %X %#o %b %c %U", {Of(255LL), Of(255LL), Of(8LL), Of(5LL), Of(65LL), Of(65LL)}),
      "ff FF 010 101 A U+0041");
  EXPECT_EQ(Printed("%.2f %6.1f %e %g", {Of(3.14159), Of(2.0), Of(1500.0), Of(0.1)}),
            "3.14    2.0 1.500000e+03 0.1");
  EXPECT_EQ(Printed("%d %t %z", {Of(std::string("x")), Of(1LL), Of(true)}),
            "%!d(string=x) %!t(int=1) %!z(bool=true)");
  EXPECT_EQ(Printed("%d %d", {Of(1LL)}), "1 %!d(MISSING)");
  EXPECT_EQ(Printed("%d", {Of(1LL), Of(2LL)}), "1%!(EXTRA int=2)");
  EXPECT_EQ(Printed("100%", {}), "100%!(NOVERB)");
  EXPECT_EQ(Printed("%[2]*[1]d|%T", {Of(1LL), Of(4LL)}), "   1|int");
}

TEST(Printf, GrowsLittleBeyondWhatATemplateMayComeTo) {
  std::string pattern;
  for (int i = 0; i < 1000; ++i) {
    pattern += "%999999d%.999999f%-999999s";
  }
  const Value::List arguments(3000, Of(1.5));
  EXPECT_LT(Printed(pattern, arguments).size(), 4 * kLongestText);
}

}  // namespace
}  // namespace gantry::nfd
