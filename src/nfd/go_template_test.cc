// SPDX-License-Identifier: Apache-2.0
#include "nfd/go_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::nfd {
namespace {

using testing::HasSubstr;

Value Text(std::string text) { return {std::move(text)}; }
Value Make(Value::Map map) { return {std::make_shared<const Value::Map>(std::move(map))}; }
Value Make(Value::List list) { return {std::make_shared<const Value::List>(std::move(list))}; }

// Two PCI devices and two attributes, as a rule's match leaves them.
Value Input() {
  const Value devices =
      Make(Value::List{Make(Value::Map{{"class", Text("0302")}, {"device", Text("20b2")}}),
                       Make(Value::Map{{"class", Text("0200")}, {"device", Text("101b")}})});
  const Value release =
      Make(Value::List{Make(Value::Map{{"Name", Text("ID")}, {"Value", Text("debian")}}),
                       Make(Value::Map{{"Name", Text("VERSION_ID")}, {"Value", Text("12")}})});
  return Make(Value::Map{{"pci", Make(Value::Map{{"device", devices}})},
                         {"system", Make(Value::Map{{"osrelease", release}})},
                         {"none", Make(Value::List{})},
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

struct Expansion {
  const char* text;
  const char* expanded;
};

class Templates : public testing::TestWithParam<Expansion> {};

TEST_P(Templates, Expand) { EXPECT_EQ(Expanded(GetParam().text), GetParam().expanded); }

INSTANTIATE_TEST_SUITE_P(
    All, Templates,
    testing::Values(
        Expansion{"plain text", "plain text"}, Expansion{"", ""},
        Expansion{"{{range .pci.device}}{{.class}}-{{.device}}\n{{end}}", "0302-20b2\n0200-101b\n"},
        Expansion{"{{range $i, $d := .pci.device}}{{$i}}{{$d.class}} {{end}}", "00302 10200 "},
        Expansion{"{{range $d := .pci.device}}{{$d.device}}{{$.number}}{{end}}", "20b27101b7"},
        Expansion{"{{range .none}}x{{else}}empty{{end}}", "empty"},
        Expansion{"{{range .system.osrelease}}{{.Name}}={{.Value}},{{end}}",
                  "ID=debian,VERSION_ID=12,"},
        Expansion{"{{(index .pci.device 1).class}}", "0200"},
        Expansion{"{{with index .pci.device 0}}{{.device}}{{end}}", "20b2"},
        Expansion{"{{with .none}}x{{else}}y{{end}}", "y"},
        Expansion{"{{if .yes}}a{{else}}b{{end}}", "a"},
        Expansion{"{{if not .yes}}a{{else if eq .number 7}}c{{else}}b{{end}}", "c"},
        Expansion{"{{if and .none (index .none 0)}}a{{else}}safe{{end}}", "safe"},
        Expansion{"{{if or .yes (index .none 0)}}safe{{end}}", "safe"},
        Expansion{"{{len .pci.device}} {{len \"four\"}} {{.pci.device | len}}", "2 4 2"},
        Expansion{"{{eq \"a\" \"b\" \"a\"}} {{ne 1 2}} {{lt 1 2}} {{le 2 2}} {{gt 1 2}} {{ge 1 2}}",
                  "true true true true false false"},
        Expansion{"{{printf \"%s-%d-%v%%%q\" \"a\" 3 true \"q\"}}", "a-3-true%\"q\""},
        Expansion{"{{print \"a\" 1 2 \"b\"}}|{{println 1 2}}", "a1 2b|1 2\n"},
        Expansion{"{{$x := 3}}{{$x}}{{$x = 4}}{{$x}}", "34"},
        Expansion{"{{$x := 1}}{{if .yes}}{{$x = 2}}{{end}}{{$x}}", "2"},
        Expansion{"a \n {{- /* a comment */ -}} \n b", "ab"}, Expansion{"a {{- 1 -}} b", "a1b"},
        Expansion{"{{`raw \\n`}}{{\"\\t\\\"\"}}", "raw \\n\t\""}, Expansion{"{{-3}}", "-3"},
        Expansion{"{{index (index .pci.device 0) \"none\"}}", ""},
        Expansion{"{{.system.osrelease}}",
                  "[map[Name:ID Value:debian] map[Name:VERSION_ID Value:12]]"},
        Expansion{"{{printf \"%q\" \"a\\\"b\\t\"}}", "\"a\\\"b\\t\""}),
    [](const auto& each) { return "T" + std::to_string(each.index); });

// What NFD's templates come to, with its Sprig 3.3 and Go's text/template.
INSTANTIATE_TEST_SUITE_P(
    Sprig, Templates,
    testing::Values(
        Expansion{R"({{(.pci.device | first).class | trim | substr 0 63}})", "0302"},
        Expansion{R"({{lower "AbC"}} {{upper "aBc"}} {{title "a b-c_d e.f"}})",
                  "abc ABC A B-C_d E.F"},
        Expansion{R"({{trim "  a b "}}|{{trimAll "$-" "$-a-$"}}|{{trimPrefix "a" "aab"}})",
                  "a b|a|ab"},
        Expansion{R"({{trimSuffix "b" "abb"}})", "ab"},
        Expansion{
            R"({{replace "a" "bb" "banana"}}|{{replace "" "-" "ab"}}|{{"x y" | replace " " "_"}})",
            "bbbnbbnbb|-a-b-|x_y"},
        Expansion{R"({{substr 0 2 "abcd"}}|{{substr -1 2 "abcd"}}|{{substr 1 -1 "abcd"}})",
                  "ab|ab|bcd"},
        Expansion{R"({{substr 1 9 "abcd"}}|{{trunc 2 "abcd"}}|{{trunc -2 "abcd"}})", "bcd|ab|cd"},
        Expansion{R"({{trunc -9 "abcd"}}|{{trunc 9 "abcd"}})", "abcd|abcd"},
        Expansion{
            R"({{nospace " a\tb c\n"}}|{{contains "an" "banana"}}|{{hasPrefix "ba" "banana"}})",
            "abc|true|true"},
        Expansion{R"({{hasSuffix "x" "banana"}})", "false"},
        Expansion{R"({{default "d" ""}}|{{default "d" "v"}}|{{default "d"}})", "d|v|d"},
        Expansion{R"({{0 | default 7}}|{{empty ""}}{{empty 0}}{{empty (list)}}{{empty "x"}})",
                  "7|truetruetruefalse"},
        Expansion{R"({{coalesce "" 0 "c" "d"}}|{{coalesce "" 0}}|{{ternary "a" "b" true}})",
                  "c|<no value>|a"},
        Expansion{R"({{false | ternary "a" "b"}})", "b"},
        Expansion{
            R"({{(first .pci.device).device}}|{{(last .pci.device).device}}|{{range rest .pci.device}}{{.device}}{{end}})",
            "20b2|101b|101b"},
        Expansion{R"({{first (list)}}|{{rest (list)}}|{{len (rest (list))}})", "<no value>|[]|0"},
        Expansion{
            R"({{join "," (list "a" 1 true)}}|{{join "," "a"}}|{{splitList "," "a,b,,c" | join "-"}})",
            "a,1,true|a|a-b--c"},
        Expansion{R"({{splitList "," ""}}|{{len (splitList "," "")}}|{{splitList "" "abc"}})",
                  "[]|1|[a b c]"},
        Expansion{R"({{quote "a\"b\n" 3}}|{{quote nil "x"}}|{{toString 3}}{{toString true}})",
                  "\"a\\\"b\\n\" \"3\"|\"x\"|3true"},
        Expansion{R"({{int "12"}}|{{int "0300"}}|{{int "08"}})", "12|192|0"},
        Expansion{R"({{int "0x1f"}}|{{int "1.0"}}|{{int "1.7"}})", "31|1|0"},
        Expansion{R"({{int "x"}}|{{int true}}|{{int nil}})", "0|1|0"},
        Expansion{R"({{int "0b11"}}|{{int "+5"}}|{{int "0o17"}})", "3|5|15"},
        Expansion{R"({{int "12.00"}}|{{int ""}}|{{int "010.0"}})", "12|0|8"},
        Expansion{R"({{int "0"}}|{{int "00"}}|{{int "000"}})", "0|0|0"},
        Expansion{R"({{atoi "12"}}|{{atoi "0300"}}|{{atoi "x"}})", "12|300|0"},
        Expansion{R"({{atoi "99999999999999999999"}}|{{atoi "-7"}}|{{atoi "+7"}})",
                  "9223372036854775807|-7|7"},
        Expansion{R"({{int "99999999999999999999"}})", "0"},
        Expansion{R"({{add 1 "2" 3}}|{{add}}|{{sub 5 "7"}})", "6|0|-2"},
        Expansion{R"({{mul 2 3 4}}|{{mul 2}}|{{div 7 2}})", "24|2|3"},
        Expansion{R"({{mod 7 3}}|{{div -7 2}}|{{mod -7 3}})", "1|-3|-1"},
        Expansion{R"({{max 1 "9" 3}}|{{min 4 2}}|{{min 4}})", "9|2|4"},
        Expansion{R"({{div "-9223372036854775808" -1}}|{{add "9223372036854775807" 1}})",
                  "-9223372036854775808|-9223372036854775808"},
        Expansion{R"({{list 1 "a" true}}|{{has "a" (list "b" "a")}}|{{has 1 (list "1")}})",
                  "[1 a true]|true|false"},
        Expansion{
            R"({{has "a" nil}}|{{uniq (list "a" "b" "a" 1 "1")}}|{{sortAlpha (list "b" "a" 10 9)}})",
            "false|[a b 1 1]|[10 9 a b]"},
        Expansion{R"({{sortAlpha "x"}})", "[x]"},
        Expansion{R"({{regexMatch "^a+$" "aaa"}}|{{regexMatch "(" "a"}})", "true|false"},
        Expansion{
            R"x({{regexReplaceAll "(a)(x*)" "axbaxxc" "<$1>"}}|{{regexReplaceAll "(a)" "a" "$1x"}}|{{regexReplaceAll "(a)" "a" "${1}x"}})x",
            "<a>b<a>c||ax"},
        Expansion{
            R"x({{regexReplaceAll "x*" "abxc" "-"}}|{{regexReplaceAll "(?P<n>b)" "abc" "[${n}$n$$]"}}|{{regexReplaceAll "b" "abc" "$"}})x",
            "-a-b-c-|a[bb$]c|a$c"},
        Expansion{
            R"({{regexReplaceAll "b" "abc" "${"}}|{{regexReplaceAll "b" "abc" "$x"}}|{{regexReplaceAll "b" "abc" "$-"}})",
            "a${c|ac|a$-c"},
        Expansion{
            R"x({{regexReplaceAll "b" "abc" "$0$0"}}|{{regexReplaceAll "b" "abc" "$2"}}|{{regexReplaceAll "(b)|(c)" "abc" "<$2>"}})x",
            "abbc|ac|a<><c>"},
        Expansion{R"({{slice (list 1 2 3) 1}}|{{slice (list 1 2 3) 1 2}}|{{slice (list 1 2 3)}})",
                  "[2 3]|[2]|[1 2 3]"},
        Expansion{R"({{slice (list)}})", "<no value>"},
        Expansion{
            R"({{has (first .pci.device) .pci.device}}|{{len (uniq .pci.device)}}|{{join "," .system.osrelease}})",
            "true|2|map[Name:ID Value:debian],map[Name:VERSION_ID Value:12]"},
        Expansion{R"({{range splitList "," "a,b"}}{{.}};{{end}})", "a;b;"},
        Expansion{R"({{"a" | default "x" | upper}})", "A"},
        Expansion{
            R"({{regexReplaceAll "[^a-z0-9]+" "NVIDIA A100" "-"}}|{{regexReplaceAll "" "ab" "-"}}|{{regexReplaceAll "a*" "baac" "x"}})",
            "-100|-a-b-|xbxcx"},
        Expansion{R"({{int 3}} {{eq (int "3") 3}} {{eq (add 1 2) 3}} {{lt (int "9") (int "10")}})",
                  "3 true true true"},
        Expansion{R"({{join "-" (list "a" nil "b")}})", "a-b"},
        Expansion{R"({{int "-4"}}|{{int "0b11"}}|{{int "1."}})", "-4|3|0"},
        Expansion{R"({{toString 3}}{{toString true}})", "3true"}),
    [](const auto& each) { return "S" + std::to_string(each.index); });

INSTANTIATE_TEST_SUITE_P(
    Numbers, Templates,
    testing::Values(
        Expansion{
            R"({{range $i, $d := .pci.device}}slot.{{printf "%02d" $i}}={{$d.class}} {{end}})",
            "slot.00=0302 slot.01=0200 "},
        Expansion{R"({{printf "%5s|%-5s|%05.1f|%x|%q" "a" "b" 1.5 255 "c"}})",
                  "    a|b    |001.5|ff|\"c\""},
        Expansion{
            "{{1.5}} {{1e3}} {{0x1F}} {{0b11}} {{0o17}} {{017}} {{1_000}} {{'a'}} {{+5}} {{.5}}",
            "1.5 1000 31 3 15 15 1000 97 5 0.5"},
        Expansion{"{{1.}} {{ 1.e2 }} {{-2.5}} {{lt 1.5 2.5}} {{eq 1.5 1.5}}",
                  "1 100 -2.5 true true"},
        Expansion{"{{if 0.0}}a{{else}}b{{end}}{{if 0.1}}a{{end}} {{print 1.0 2 \"a\" 1e21}}",
                  "ba 1 2a1e+21"},
        Expansion{
            R"({{range .pci.device}}{{if eq .class "0200"}}{{break}}{{end}}{{.device}}{{end}})",
            "20b2"},
        Expansion{
            R"({{range .pci.device}}{{if eq .class "0302"}}{{continue}}{{end}}{{.device}}{{end}})",
            "101b"},
        Expansion{
            R"({{range $i, $d := .pci.device}}{{range 3}}{{if eq . 1}}{{break}}{{end}}{{$i}}{{end}};{{end}})",
            "0;1;"},
        Expansion{"{{range $i := until 3}}{{$i}},{{end}}{{range 2}}{{.}};{{end}}{{range until "
                  "-2}}{{.}}{{end}}",
                  "0,1,2,0;1;0-1"},
        Expansion{
            R"({{float64 "1.5"}} {{float64 3}} {{float64 "x"}} {{float64 true}} {{int 2.9}} {{int64 "7"}})",
            "1.5 3 0 1 2 7"},
        Expansion{
            R"({{round 3.14159 2}} {{round "2.5" 0}} {{round -2.5 0}} {{round 2.4 0 0.3}} {{floor 2.9}} {{ceil "2.1"}})",
            "3.14 3 -3 3 2 3"},
        Expansion{"{{add1 4}} {{add 1.9 2}} {{biggest 1 5 2}} {{mul 2 1.5}} {{div 7.9 2}}",
                  "5 3 5 2 3"},
        Expansion{
            R"({{repeat 3 "ab"}}|{{repeat 0 "ab"}}|{{int "1_000"}}|{{int "1e3"}}|{{int ".0"}}|{{int "00.0"}})",
            "ababab||1000|0|0|0"},
        Expansion{
            R"({{print nil}}|{{printf "%v" nil}}|{{list nil "a"}}|{{toString nil}}|{{quote nil}})",
            "<nil>|<nil>|[<nil> a]|<nil>|"},
        Expansion{R"({{printf "%s" .pci.device}})",
                  "[map[class:0302 device:20b2] map[class:0200 device:101b]]"}),
    [](const auto& each) { return "N" + std::to_string(each.index); });

TEST(Template, MistakesAreNamed) {
  EXPECT_THAT(Expanded("a\n{{range .x}}"), HasSubstr("parse: line 2: a block has no end"));
  EXPECT_THAT(Expanded("{{end}}"), HasSubstr("unexpected {{end}}"));
  EXPECT_THAT(Expanded("{{if .yes}}{{else}}{{else}}{{end}}"), HasSubstr("no end"));
  EXPECT_THAT(Expanded("{{"), HasSubstr("unclosed action"));
  EXPECT_THAT(Expanded("{{\"a}}"), HasSubstr("unclosed text"));
  EXPECT_THAT(Expanded("{{/* a"), HasSubstr("unclosed comment"));
  EXPECT_THAT(Expanded("{{template \"x\"}}"), HasSubstr("unknown function \"template\""));
  for (const char* number : {"0x", "1e400", "1..2", "'ab'", "08", "1x"}) {
    EXPECT_THAT(Expanded(std::string("{{").append(number).append("}}")), HasSubstr("parse: "))
        << number;
  }
  EXPECT_THAT(Expanded("{{break}}"), HasSubstr("parse: line 1: {{break}} outside of {{range}}"));
  EXPECT_THAT(Expanded("{{range .none}}{{else}}{{continue}}{{end}}"), HasSubstr("outside of"));
  EXPECT_THAT(Expanded("{{range $i, $x := 2}}{{end}}"), HasSubstr("has one variable"));
  EXPECT_THAT(Expanded("{{range 1000000}}{{end}}"), HasSubstr("comes to too much"));
  EXPECT_THAT(Expanded("{{until 1000000}}"), HasSubstr("too many numbers"));
  EXPECT_THAT(Expanded("{{repeat -1 \"a\"}}"), HasSubstr("a negative count"));
  EXPECT_THAT(Expanded("{{eq 1 1.5}}"), HasSubstr("can't be compared"));
  EXPECT_THAT(Expanded("{{.a | .b}}"), HasSubstr("there is no .a"));
  EXPECT_THAT(Expanded("{{1 | 2}}"), HasSubstr("only functions"));
  EXPECT_THAT(Expanded("{{1 2}}"), HasSubstr("only functions take arguments"));
  EXPECT_THAT(Expanded("{{.pci.nothing}}"), HasSubstr("expand: there is no .nothing"));
  EXPECT_THAT(Expanded("{{.number.x}}"), HasSubstr("there is no .x"));
  EXPECT_THAT(Expanded("{{$y}}"), HasSubstr("unknown variable $y"));
  EXPECT_THAT(Expanded("{{$y = 1}}"), HasSubstr("unknown variable $y"));
  EXPECT_THAT(Expanded("{{lt 1 \"a\"}}"), HasSubstr("can't be compared"));
  EXPECT_THAT(Expanded("{{index .pci.device 2}}"), HasSubstr("out of range"));
  EXPECT_THAT(Expanded("{{range .yes}}x{{end}}"), HasSubstr("has no elements"));
  EXPECT_THAT(Expanded("{{printf 5}}"), HasSubstr("printf: argument 1 must be a text"));
  EXPECT_THAT(Expanded("{{len}}"), HasSubstr("len: 0 arguments"));
  EXPECT_THAT(Expanded("{{sub 1}}"), HasSubstr("sub: 1 arguments"));
  EXPECT_THAT(Expanded("{{lower 3}}"), HasSubstr("lower: argument 1 must be a text"));
  EXPECT_THAT(Expanded("{{first (list) | trim}}"), HasSubstr("argument 1 must be a text"));
  EXPECT_THAT(Expanded("{{first \"abc\"}}"), HasSubstr("first: argument 1 must be a list"));
  EXPECT_THAT(Expanded("{{substr \"1\" 2 \"a\"}}"), HasSubstr("must be a whole number"));
  EXPECT_THAT(Expanded("{{ternary 1 2 3}}"), HasSubstr("argument 3 must be true or false"));
  EXPECT_THAT(Expanded("{{has \"a\" \"abc\"}}"), HasSubstr("has: argument 2 must be a list"));
  for (const char* part : {"substr 5 9 \"abcd\"", "substr 3 2 \"abcd\"", "substr -1 9 \"abcd\"",
                           "slice (list 1 2) 1 5", "slice (list 1 2) 2 1"}) {
    EXPECT_THAT(Expanded(std::string("{{").append(part).append("}}")), HasSubstr("out of range"));
  }
  EXPECT_THAT(Expanded("{{div 1 0}}"), HasSubstr("division by zero"));
  EXPECT_THAT(Expanded("{{mod 1 0}}"), HasSubstr("division by zero"));
  EXPECT_THAT(Expanded("{{regexReplaceAll \"(\" \"a\" \"b\"}}"),
              HasSubstr("no regular expression"));
  EXPECT_THAT(Expanded("{{list (list 1)}}"), HasSubstr("a list of lists"));
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
  // Texts that grow within a function, and many long ones without an output.
  const std::string text = "{{$x := `" + std::string(60'000, 'a') + "`}}";
  for (const std::string part : {"replace `` $x $x", "splitList `` $x | join $x",
                                 "regexReplaceAll `` $x $x", "print $x $x $x", "quote $x $x"}) {
    EXPECT_THAT(Expanded(text + "{{$y := " + part + "}}"), HasSubstr("comes to too much")) << part;
  }
  std::string copies = text;
  for (int i = 0; i < 1'000; ++i) {
    copies += "{{$y := upper $x}}";
  }
  EXPECT_THAT(Expanded(copies), HasSubstr("comes to too much"));
}

}  // namespace
}  // namespace gantry::nfd
