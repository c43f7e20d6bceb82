// SPDX-License-Identifier: Apache-2.0
// What do the functions of Go's own templates return, and which arguments do they accept?
#include "nfd/go_template_functions.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "nfd/go_printf.h"
#include "nfd/go_template_value.h"

namespace gantry::nfd {
namespace {

Result<Value> Length(const Arguments& arguments) {
  if (const std::string* text = TextOf(arguments[0])) {
    return Of(static_cast<long long>(text->size()));
  }
  if (const Value::List* list = ListOf(arguments[0])) {
    return Of(static_cast<long long>(list->size()));
  }
  if (const Value::Map* map = MapOf(arguments[0])) {
    return Of(static_cast<long long>(map->size()));
  }
  return CannotDo("len: this has no length");
}

Result<Value> Index(const Arguments& arguments) {
  Value value = arguments[0];
  for (size_t i = 1; i < arguments.size(); ++i) {
    const long long* number = NumberOf(arguments[i]);
    const std::string* key = TextOf(arguments[i]);
    if (const Value::List* list = ListOf(value); list != nullptr && number != nullptr) {
      if (*number < 0 || static_cast<size_t>(*number) >= list->size()) {
        return CannotDo(format("index: {} is out of range", *number));
      }
      value = Value((*list)[static_cast<size_t>(*number)]);
    } else if (const Value::Map* map = MapOf(value); map != nullptr && key != nullptr) {
      const auto found = map->find(*key);
      value = found == map->end() ? Of(std::string()) : Value(found->second);
    } else {
      return CannotDo("index: this can't be indexed so");
    }
  }
  return value;
}

Result<Value> Printf(const Arguments& arguments) {
  return Of(PrintFormatted(*TextOf(arguments[0]), std::span(arguments).subspan(1)));
}

// -1, 0, 1.
Result<int> Order(const Value& left, const Value& right) {
  if (left.is.index() == right.is.index()) {
    if (const long long* number = NumberOf(left)) {
      return *number < *NumberOf(right) ? -1 : (*number > *NumberOf(right) ? 1 : 0);
    }
    if (const double* fraction = FloatOf(left)) {
      return *fraction < *FloatOf(right) ? -1 : (*fraction > *FloatOf(right) ? 1 : 0);
    }
    if (const std::string* text = TextOf(left)) {
      const int order = text->compare(*TextOf(right));
      return order < 0 ? -1 : (order > 0 ? 1 : 0);
    }
    if (const bool* flag = std::get_if<bool>(&left.is)) {
      return static_cast<int>(*flag) - static_cast<int>(std::get<bool>(right.is));
    }
  }
  return CannotDo("compare: these types can't be compared");
}

// Whether the first equals one of the following.
Result<Value> Equal(const Arguments& arguments) {
  for (size_t i = 1; i < arguments.size(); ++i) {
    TRY_ASSIGN(const int order, Order(arguments[0], arguments[i]));
    if (order == 0) {
      return Of(true);
    }
  }
  return Of(false);
}

template <typename Holds>
Result<Value> Compare(const Arguments& arguments, const Holds& holds) {
  TRY_ASSIGN(const int order, Order(arguments[0], arguments[1]));
  return Of(holds(order));
}

// The first whose truth is this, else the last.
Value Choose(bool until, const Arguments& arguments) {
  const auto found = std::ranges::find(arguments, until, IsTrue);
  return found == arguments.end() ? arguments.back() : *found;
}

// As fmt.Sprint: a space only between two operands that are not strings.
Result<Value> PrintAll(const Arguments& arguments) {
  std::string text;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool apart =
        i > 0 && TextOf(arguments[i]) == nullptr && TextOf(arguments[i - 1]) == nullptr;
    text += apart ? " " : "";
    PrintTo(arguments[i], text);
  }
  return Of(std::move(text));
}

Result<Value> PrintLine(const Arguments& arguments) {
  std::string text;
  for (const Value& argument : arguments) {
    text += &argument == arguments.data() ? "" : " ";
    PrintTo(argument, text);
  }
  return Of(text + "\n");
}

constexpr auto kGo = std::to_array<Function>({
    {"and", "vv*", [](const Arguments& of) -> Result<Value> { return Choose(false, of); }},
    {"or", "vv*", [](const Arguments& of) -> Result<Value> { return Choose(true, of); }},
    {"not", "v", [](const Arguments& of) -> Result<Value> { return Of(!IsTrue(of[0])); }},
    {"len", "v", Length},
    {"index", "vv*", Index},
    {"print", "v*", PrintAll},
    {"printf", "tv*", Printf},
    {"println", "v*", PrintLine},
    {"eq", "vvv*", Equal},
    {"ne", "vv",
     [](const Arguments& of) { return Compare(of, [](int order) { return order != 0; }); }},
    {"lt", "vv",
     [](const Arguments& of) { return Compare(of, [](int order) { return order < 0; }); }},
    {"le", "vv",
     [](const Arguments& of) { return Compare(of, [](int order) { return order <= 0; }); }},
    {"gt", "vv",
     [](const Arguments& of) { return Compare(of, [](int order) { return order > 0; }); }},
    {"ge", "vv",
     [](const Arguments& of) { return Compare(of, [](int order) { return order >= 0; }); }},
});

bool Fits(char letter, const Value& value) {
  switch (letter) {
    case 't':
      return TextOf(value) != nullptr;
    case 'i':
      return NumberOf(value) != nullptr;
    case 'b':
      return std::holds_alternative<bool>(value.is);
    case 'l':
      return ListOf(value) != nullptr;
    default:
      return true;
  }
}

std::string_view KindOf(char letter) {
  switch (letter) {
    case 't':
      return "a text";
    case 'i':
      return "a whole number";
    case 'b':
      return "true or false";
    default:
      return "a list";
  }
}

}  // namespace

const Function* FindFunction(std::string_view name) {
  for (const auto functions : {SprigFunctions(), SprigNumbers(), std::span<const Function>(kGo)}) {
    if (const auto found = std::ranges::find(functions, name, &Function::name);
        found != functions.end()) {
      return &*found;
    }
  }
  return nullptr;
}

Result<Value> Call(const Function& function, const Arguments& arguments) {
  std::string_view takes = function.takes;
  const bool many = takes.ends_with('*');
  takes.remove_suffix(many ? 1 : 0);
  const size_t least = takes.size() - (many ? 1 : 0);
  if (arguments.size() < least || (!many && arguments.size() > least)) {
    return CannotDo(format("{}: {} arguments", function.name, arguments.size()));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const char letter = takes[std::min(i, takes.size() - 1)];
    if (!Fits(letter, arguments[i])) {
      return CannotDo(format("{}: argument {} must be {}", function.name, i + 1, KindOf(letter)));
    }
  }
  return function.call(arguments);
}

}  // namespace gantry::nfd
