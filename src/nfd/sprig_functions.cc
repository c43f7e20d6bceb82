// SPDX-License-Identifier: Apache-2.0
// What do the Sprig functions return that NFD offers to templates of rules? Here are those on
// strings and lists (numbers: sprig_numbers.cc); characters are ASCII, as in labels. A list holds
// no lists: users write the rules, and unbounded nesting could neither be printed nor freed.
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>

#include "base/text.h"
#include "nfd/go_template_functions.h"
#include "nfd/go_template_value.h"
#include "nfd/go_text.h"

namespace gantry::nfd {
namespace {

bool IsWhite(char letter) { return std::isspace(static_cast<unsigned char>(letter)) != 0; }
bool IsWord(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}
char Raised(char letter) {
  return static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
}

long long NumberAt(const Arguments& of, size_t place) { return *NumberOf(of[place]); }
const Value::List& ListAt(const Arguments& of, size_t place) { return *ListOf(of[place]); }

Result<Value> Upper(const Arguments& of) {
  std::string text = TextAt(of, 0);
  std::ranges::transform(text, text.begin(), Raised);
  return Of(std::move(text));
}

// The first letter of each word.
Result<Value> Title(const Arguments& of) {
  std::string text = TextAt(of, 0);
  bool inside = false;
  for (char& letter : text) {
    letter = inside ? letter : Raised(letter);
    inside = IsWord(letter) || static_cast<unsigned char>(letter) >= 0x80;
  }
  return Of(std::move(text));
}

Result<Value> TrimAll(const Arguments& of) {
  const std::string& text = TextAt(of, 1);
  const size_t first = text.find_first_not_of(TextAt(of, 0));
  const size_t last = text.find_last_not_of(TextAt(of, 0));
  return Of(first == std::string::npos ? std::string() : text.substr(first, last - first + 1));
}

Result<Value> TrimPrefix(const Arguments& of) {
  const std::string& text = TextAt(of, 1);
  return Of(text.substr(text.starts_with(TextAt(of, 0)) ? TextAt(of, 0).size() : 0));
}

Result<Value> TrimSuffix(const Arguments& of) {
  const std::string& text = TextAt(of, 1);
  const size_t cut = text.ends_with(TextAt(of, 0)) ? TextAt(of, 0).size() : 0;
  return Of(text.substr(0, text.size() - cut));
}

Result<Value> NoNamespace(const Arguments& of) {
  std::string text = TextAt(of, 0);
  std::erase_if(text, IsWhite);
  return Of(std::move(text));
}

// Old, new, text. An empty `old` matches before each character and at the end.
Result<Value> Replace(const Arguments& of) {
  const std::string& old = TextAt(of, 0);
  const std::string& text = TextAt(of, 2);
  std::string out;
  size_t at = 0;
  while (out.size() <= kLongestText) {
    const size_t found = text.find(old, at);
    if (found == std::string::npos) {
      break;
    }
    out.append(text, at, found - at).append(TextAt(of, 1));
    at = found + old.size();
    if (old.empty()) {
      if (at == text.size()) {
        break;
      }
      out += text[at++];
    }
  }
  return Of(out.append(text, at));
}

// A part of a string or of a list, if it exists.
Result<std::pair<size_t, size_t>> Range(long long start, long long end, size_t size) {
  if (start < 0 || end < start || static_cast<size_t>(end) > size) {
    return CannotDo(format("{} to {} of {}: out of range", start, end, size));
  }
  return std::pair(static_cast<size_t>(start), static_cast<size_t>(end));
}

// Start, end, text: a negative start counts as absent, and so does an end that is negative or too
// large; Sprig reads the end only if there is a start.
Result<Value> Substr(const Arguments& of) {
  const std::string& text = TextAt(of, 2);
  const auto size = static_cast<long long>(text.size());
  const long long start = NumberAt(of, 0);
  const long long end = NumberAt(of, 1);
  const bool open = start >= 0 && (end < 0 || end > size);
  TRY_ASSIGN(const auto range, Range(std::max(start, 0LL), open ? size : end, text.size()));
  return Of(text.substr(range.first, range.second - range.first));
}

// The first so many; for a negative number, the last.
Result<Value> Trunc(const Arguments& of) {
  const std::string& text = TextAt(of, 1);
  const auto size = static_cast<long long>(text.size());
  const long long count = NumberAt(of, 0);
  if (count < 0) {
    return Of(text.substr(static_cast<size_t>(count > -size ? size + count : 0)));
  }
  return Of(text.substr(0, static_cast<size_t>(std::min(count, size))));
}

Result<Value> Quote(const Arguments& of) {
  std::string text;
  for (const Value& value : of) {
    if (!std::holds_alternative<std::monostate>(value.is) && text.size() <= kLongestText) {
      text += format("{}{}", text.empty() ? "" : " ", Quoted(Print(value)));
    }
  }
  return Of(std::move(text));
}

Result<Value> Repeat(const Arguments& of) {
  if (NumberAt(of, 0) < 0) {
    return CannotDo("repeat: a negative count");
  }
  std::string text;
  for (long long i = 0;
       i < NumberAt(of, 0) && !TextAt(of, 1).empty() && text.size() <= kLongestText; ++i) {
    text += TextAt(of, 1);
  }
  return Of(std::move(text));
}

Result<Value> Default(const Arguments& of) {
  return of.size() > 1 && IsTrue(of[1]) ? of[1] : of[0];
}

Result<Value> Coalesce(const Arguments& of) {
  const auto found = std::ranges::find_if(of, IsTrue);
  return found == of.end() ? Value() : *found;
}

Result<Value> First(const Arguments& of) {
  return ListAt(of, 0).empty() ? Value() : Value(ListAt(of, 0).front());
}

Result<Value> Last(const Arguments& of) {
  return ListAt(of, 0).empty() ? Value() : Value(ListAt(of, 0).back());
}

Result<Value> Rest(const Arguments& of) {
  const Value::List& list = ListAt(of, 0);
  return Of(Value::List(list.begin() + (list.empty() ? 0 : 1), list.end()));
}

Result<Value> MakeList(const Arguments& of) {
  if (std::ranges::any_of(of, [](const Value& value) { return ListOf(value) != nullptr; })) {
    return CannotDo("list: a list of lists");
  }
  return Of(Value::List(of));
}

// The strings of a list, without nil values; anything else is one string.
std::vector<std::string> Texts(const Value& value) {
  const Value::List one = {value};
  std::vector<std::string> texts;
  for (const Value& element : ListOf(value) == nullptr ? one : *ListOf(value)) {
    if (!std::holds_alternative<std::monostate>(element.is)) {
      texts.push_back(Print(element));
    }
  }
  return texts;
}

Value ListOfTexts(std::vector<std::string> texts) {
  Value::List list;
  for (std::string& text : texts) {
    list.push_back(Of(std::move(text)));
  }
  return Of(std::move(list));
}

Result<Value> JoinTexts(const Arguments& of) {
  std::string joined;
  bool first = true;
  for (const std::string& text : Texts(of[1])) {
    if (joined.size() > kLongestText) {
      break;
    }
    joined += std::exchange(first, false) ? "" : TextAt(of, 0);
    joined += text;
  }
  return Of(std::move(joined));
}

Result<Value> SplitList(const Arguments& of) {
  const std::string& separator = TextAt(of, 0);
  const std::string& text = TextAt(of, 1);
  std::vector<std::string> parts;
  if (separator.empty()) {
    for (const char letter : text) {
      parts.emplace_back(1, letter);
    }
    return ListOfTexts(std::move(parts));
  }
  size_t at = 0;
  for (size_t found = text.find(separator); found != std::string::npos;
       found = text.find(separator, at)) {
    parts.push_back(text.substr(at, found - at));
    at = found + separator.size();
  }
  parts.push_back(text.substr(at));
  return ListOfTexts(std::move(parts));
}

Result<Value> SortAlpha(const Arguments& of) {
  std::vector<std::string> texts = Texts(of[0]);
  std::ranges::sort(texts);
  return ListOfTexts(std::move(texts));
}

Result<Value> Has(const Arguments& of) {
  if (std::holds_alternative<std::monostate>(of[1].is)) {
    return Of(false);
  }
  if (ListOf(of[1]) == nullptr) {
    return CannotDo("has: argument 2 must be a list");
  }
  return Of(std::ranges::any_of(ListAt(of, 1), [&](const Value& element) {
    return !IsLess(element, of[0]) && !IsLess(of[0], element);
  }));
}

Result<Value> Uniq(const Arguments& of) {
  const auto less = [](const Value* left, const Value* right) { return IsLess(*left, *right); };
  std::set<const Value*, decltype(less)> seen(less);
  Value::List list;
  for (const Value& element : ListAt(of, 0)) {
    if (seen.insert(&element).second) {
      list.push_back(element);
    }
  }
  return Of(std::move(list));
}

RE2::Options RegexOptions() {
  RE2::Options options(RE2::Quiet);
  options.set_max_mem(int64_t{1} << 20);
  return options;
}

Result<Value> RegexMatch(const Arguments& of) {
  const RE2 regex(TextAt(of, 0), RegexOptions());
  return Of(regex.ok() && RE2::PartialMatch(TextAt(of, 1), regex));
}

// Appends to `out` what $1, ${1}, $name and ${name} of `with` name; a group that does not exist is
// empty. $$ is a dollar, and so is one without a name.
void ExpandGroups(const std::string& with, const RE2& regex,
                  const std::vector<re2::StringPiece>& groups, std::string& out) {
  for (size_t at = 0; at < with.size(); ++at) {
    if (with[at] != '$') {
      out += with[at];
      continue;
    }
    if (with.substr(at + 1, 1) == "$") {
      out += with[at++];
      continue;
    }
    const bool braces = with.substr(at + 1, 1) == "{";
    const size_t begin = at + (braces ? 2 : 1);
    const size_t end = static_cast<size_t>(
        std::find_if_not(with.begin() + static_cast<long>(std::min(begin, with.size())), with.end(),
                         IsWord) -
        with.begin());
    if (end <= begin || (braces && with.substr(end, 1) != "}")) {
      out += '$';
      continue;
    }
    const std::string name = with.substr(begin, end - begin);
    const auto named = regex.NamedCapturingGroups().find(name);
    const auto group = named == regex.NamedCapturingGroups().end()
                           ? ParseInt(name).value_or(-1)
                           : static_cast<long long>(named->second);
    if (group >= 0 && static_cast<size_t>(group) < groups.size()) {
      const re2::StringPiece& text = groups[static_cast<size_t>(group)];
      out.append(text.data() == nullptr ? "" : text.data(), text.size());
    }
    at = end - (braces ? 0 : 1);
  }
}

// Expression, text, replacement.
Result<Value> RegexReplaceAll(const Arguments& of) {
  const RE2 regex(TextAt(of, 0), RegexOptions());
  if (!regex.ok()) {
    return CannotDo(format("regexReplaceAll: \"{}\" is no regular expression: {}", TextAt(of, 0),
                           regex.error()));
  }
  const std::string& text = TextAt(of, 1);
  std::vector<re2::StringPiece> groups(static_cast<size_t>(regex.NumberOfCapturingGroups()) + 1);
  std::string out;
  size_t kept = 0;  // the text up to here is in `out`
  size_t at = 0;
  while (at <= text.size() && out.size() <= kLongestText &&
         regex.Match(text, at, text.size(), RE2::UNANCHORED, groups.data(),
                     static_cast<int>(groups.size()))) {
    const auto begin = static_cast<size_t>(groups[0].data() - text.data());
    const size_t end = begin + groups[0].size();
    out.append(text, kept, begin - kept);
    // An empty match directly after a match is ignored: the match includes it.
    if (end > kept || begin == 0) {
      ExpandGroups(TextAt(of, 2), regex, groups, out);
    }
    kept = end;
    at = end > at ? end : at + 1;
  }
  return Of(out.append(text, kept));
}

Result<Value> Slice(const Arguments& of) {
  const Value::List& list = ListAt(of, 0);
  if (list.empty()) {
    return Value();
  }
  const auto size = static_cast<long long>(list.size());
  TRY_ASSIGN(const auto range, Range(of.size() > 1 ? IntegerOf(of[1]) : 0,
                                     of.size() > 2 ? IntegerOf(of[2]) : size, list.size()));
  return Of(Value::List(list.begin() + static_cast<long>(range.first),
                        list.begin() + static_cast<long>(range.second)));
}

using Done = Result<Value>;
constexpr auto kSprig = std::to_array<Function>({
    // Strings.
    {"lower", "t", [](const Arguments& of) -> Done { return Of(Lower(TextAt(of, 0))); }},
    {"upper", "t", Upper},
    {"title", "t", Title},
    {"trim", "t", [](const Arguments& of) -> Done { return Of(std::string(Trim(TextAt(of, 0)))); }},
    {"trimAll", "tt", TrimAll},
    {"trimPrefix", "tt", TrimPrefix},
    {"trimSuffix", "tt", TrimSuffix},
    {"nospace", "t", NoNamespace},
    {"replace", "ttt", Replace},
    {"substr", "iit", Substr},
    {"trunc", "it", Trunc},
    {"contains", "tt",
     [](const Arguments& of) -> Done { return Of(TextAt(of, 1).contains(TextAt(of, 0))); }},
    {"hasPrefix", "tt",
     [](const Arguments& of) -> Done { return Of(TextAt(of, 1).starts_with(TextAt(of, 0))); }},
    {"hasSuffix", "tt",
     [](const Arguments& of) -> Done { return Of(TextAt(of, 1).ends_with(TextAt(of, 0))); }},
    {"quote", "v*", Quote},
    {"repeat", "it", Repeat},
    {"toString", "v", [](const Arguments& of) -> Done { return Of(Print(of[0])); }},
    {"regexMatch", "tt", RegexMatch},
    {"regexReplaceAll", "ttt", RegexReplaceAll},
    // Choices.
    {"default", "vv*", Default},
    {"empty", "v", [](const Arguments& of) -> Done { return Of(!IsTrue(of[0])); }},
    {"coalesce", "v*", Coalesce},
    {"ternary", "vvb", [](const Arguments& of) -> Done { return IsTrue(of[2]) ? of[0] : of[1]; }},
    // Lists.
    {"list", "v*", MakeList},
    {"first", "l", First},
    {"last", "l", Last},
    {"rest", "l", Rest},
    {"slice", "lv*", Slice},
    {"join", "tv", JoinTexts},
    {"splitList", "tt", SplitList},
    {"sortAlpha", "v", SortAlpha},
    {"has", "vv", Has},
    {"uniq", "l", Uniq},
});

}  // namespace

std::span<const Function> SprigFunctions() { return kSprig; }

}  // namespace gantry::nfd
