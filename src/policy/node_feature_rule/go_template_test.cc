// SPDX-License-Identifier: Apache-2.0
#include "policy/node_feature_rule/go_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::node_feature_rule {
namespace {

using testing::HasSubstr;

Value Text(std::string text) { return {std::move(text)}; }
Value Of(Value::Map map) { return {std::make_shared<const Value::Map>(std::move(map))}; }
Value Of(Value::List list) { return {std::make_shared<const Value::List>(std::move(list))}; }

// Two PCI devices and two attributes, as a rule's match leaves them.
Value Input() {
  const Value devices =
      Of(Value::List{Of(Value::Map{{"class", Text("0302")}, {"device", Text("20b2")}}),
                     Of(Value::Map{{"class", Text("0200")}, {"device", Text("101b")}})});
  const Value release =
      Of(Value::List{Of(Value::Map{{"Name", Text("ID")}, {"Value", Text("debian")}}),
                     Of(Value::Map{{"Name", Text("VERSION_ID")}, {"Value", Text("12")}})});
  return Of(Value::Map{{"pci", Of(Value::Map{{"device", devices}})},
                       {"system", Of(Value::Map{{"osrelease", release}})},
                       {"none", Of(Value::List{})},
                       {"number", {7LL}},
                       {"yes", {true}}});
}

std::string Expanded(std::string_view text) {
  const auto parsed = Template::Parse(text);
  if (!parsed.has_value()) {
    return "parse: " + parsed.error().message;
  }
  const auto expanded = parsed->Expand(Input());
  return expanded.has_value() ? *expanded : "expand: " + expanded.error().message;
}

struct Case {
  const char* text;
  const char* expanded;
};

class Templates : public testing::TestWithParam<Case> {};

TEST_P(Templates, Expand) { EXPECT_EQ(Expanded(GetParam().text), GetParam().expanded); }

INSTANTIATE_TEST_SUITE_P(
    All, Templates,
    testing::Values(
        Case{"plain text", "plain text"}, Case{"", ""},
        Case{"{{range .pci.device}}{{.class}}-{{.device}}\n{{end}}", "0302-20b2\n0200-101b\n"},
        Case{"{{range $i, $d := .pci.device}}{{$i}}{{$d.class}} {{end}}", "00302 10200 "},
        Case{"{{range $d := .pci.device}}{{$d.device}}{{$.number}}{{end}}", "20b27101b7"},
        Case{"{{range .none}}x{{else}}empty{{end}}", "empty"},
        Case{"{{range .system.osrelease}}{{.Name}}={{.Value}},{{end}}", "ID=debian,VERSION_ID=12,"},
        Case{"{{(index .pci.device 1).class}}", "0200"},
        Case{"{{with index .pci.device 0}}{{.device}}{{end}}", "20b2"},
        Case{"{{with .none}}x{{else}}y{{end}}", "y"}, Case{"{{if .yes}}a{{else}}b{{end}}", "a"},
        Case{"{{if not .yes}}a{{else if eq .number 7}}c{{else}}b{{end}}", "c"},
        Case{"{{if and .none (index .none 0)}}a{{else}}safe{{end}}", "safe"},
        Case{"{{if or .yes (index .none 0)}}safe{{end}}", "safe"},
        Case{"{{len .pci.device}} {{len \"four\"}} {{.pci.device | len}}", "2 4 2"},
        Case{"{{eq \"a\" \"b\" \"a\"}} {{ne 1 2}} {{lt 1 2}} {{le 2 2}} {{gt 1 2}} {{ge 1 2}}",
             "true true true true false false"},
        Case{"{{printf \"%s-%d-%v%%%q\" \"a\" 3 true \"q\"}}", "a-3-true%\"q\""},
        Case{"{{print \"a\" 1 2 \"b\"}}|{{println 1 2}}", "a1 2b|1 2\n"},
        Case{"{{$x := 3}}{{$x}}{{$x = 4}}{{$x}}", "34"},
        Case{"{{$x := 1}}{{if .yes}}{{$x = 2}}{{end}}{{$x}}", "2"},
        Case{"a \n {{- /* a comment */ -}} \n b", "ab"}, Case{"a {{- 1 -}} b", "a1b"},
        Case{"{{`raw \\n`}}{{\"\\t\\\"\"}}", "raw \\n\t\""}, Case{"{{-3}}", "-3"},
        Case{"{{index (index .pci.device 0) \"none\"}}", ""},
        Case{"{{.system.osrelease}}", "[map[Name:ID Value:debian] map[Name:VERSION_ID Value:12]]"},
        Case{"{{nil}}", "<no value>"}),
    [](const auto& each) { return "T" + std::to_string(each.index); });

TEST(Template, MistakesAreNamed) {
  EXPECT_THAT(Expanded("a\n{{range .x}}"), HasSubstr("parse: line 2: a block has no end"));
  EXPECT_THAT(Expanded("{{end}}"), HasSubstr("unexpected {{end}}"));
  EXPECT_THAT(Expanded("{{if .yes}}{{else}}{{else}}{{end}}"), HasSubstr("no end"));
  EXPECT_THAT(Expanded("{{"), HasSubstr("unclosed action"));
  EXPECT_THAT(Expanded("{{\"a}}"), HasSubstr("unclosed text"));
  EXPECT_THAT(Expanded("{{/* a"), HasSubstr("unclosed comment"));
  EXPECT_THAT(Expanded("{{template \"x\"}}"), HasSubstr("unknown function \"template\""));
  EXPECT_THAT(Expanded("{{1.5}}"), HasSubstr("parse"));
  EXPECT_THAT(Expanded("{{.a | .b}}"), HasSubstr("there is no .a"));
  EXPECT_THAT(Expanded("{{1 | 2}}"), HasSubstr("only functions"));
  EXPECT_THAT(Expanded("{{1 2}}"), HasSubstr("only functions take arguments"));
  EXPECT_THAT(Expanded("{{.pci.nothing}}"), HasSubstr("expand: there is no .nothing"));
  EXPECT_THAT(Expanded("{{.number.x}}"), HasSubstr("there is no .x"));
  EXPECT_THAT(Expanded("{{$y}}"), HasSubstr("unknown variable $y"));
  EXPECT_THAT(Expanded("{{$y = 1}}"), HasSubstr("unknown variable $y"));
  EXPECT_THAT(Expanded("{{lt 1 \"a\"}}"), HasSubstr("can't be compared"));
  EXPECT_THAT(Expanded("{{index .pci.device 2}}"), HasSubstr("out of range"));
  EXPECT_THAT(Expanded("{{range 3}}x{{end}}"), HasSubstr("has no elements"));
  EXPECT_THAT(Expanded("{{printf \"%x\" 1}}"), HasSubstr("unknown verb"));
  EXPECT_THAT(Expanded("{{len}}"), HasSubstr("len: 0 arguments"));
  EXPECT_THAT(Expanded("{{(1}}"), HasSubstr("unclosed parenthesis"));
}

TEST(Template, NestingStepsAndOutputAreBounded) {
  std::string deep;
  for (int i = 0; i < 10'000; ++i) {
    deep += "{{if .yes}}";
  }
  EXPECT_THAT(Expanded(deep), HasSubstr("nested too deeply"));
  EXPECT_THAT(Expanded("{{" + std::string(10'000, '(') + "1"), HasSubstr("nested too deeply"));
  std::string chain = "{{if .none}}";
  for (int i = 0; i < 10'000; ++i) {
    chain += "{{else if .none}}";
  }
  EXPECT_THAT(Expanded(chain + "{{end}}"), HasSubstr("nested too deeply"));
  std::string ranges;
  std::string ends;
  for (int i = 0; i < 40; ++i) {
    ranges += "{{range $.pci.device}}";
    ends += "{{end}}";
  }
  EXPECT_THAT(Expanded(ranges + "x" + ends), HasSubstr("comes to too much"));
  EXPECT_THAT(Expanded("{{range .pci.device}}" + std::string(40'000, 'a') + "{{end}}"),
              HasSubstr("comes to too much"));
}

}  // namespace
}  // namespace gantry::node_feature_rule
