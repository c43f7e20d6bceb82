// SPDX-License-Identifier: Apache-2.0
// How does a template treat its values? It prints and judges them as Go does.
#include "nfd/go_template_value.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "nfd/go_text.h"

namespace gantry::nfd {

const Value::List* ListOf(const Value& value) {
  const auto* list = std::get_if<std::shared_ptr<const Value::List>>(&value.is);
  return list == nullptr ? nullptr : list->get();
}

const Value::Map* MapOf(const Value& value) {
  const auto* map = std::get_if<std::shared_ptr<const Value::Map>>(&value.is);
  return map == nullptr ? nullptr : map->get();
}

const std::string* TextOf(const Value& value) { return std::get_if<std::string>(&value.is); }
const long long* NumberOf(const Value& value) { return std::get_if<long long>(&value.is); }
const double* FloatOf(const Value& value) { return std::get_if<double>(&value.is); }

Value Of(bool value) { return {value}; }
Value Of(long long value) { return {value}; }
Value Of(double value) { return {value}; }
Value Of(std::string value) { return {std::move(value)}; }
Value Of(Value::List value) { return {std::make_shared<const Value::List>(std::move(value))}; }

bool IsTrue(const Value& value) {
  if (const bool* flag = std::get_if<bool>(&value.is)) {
    return *flag;
  }
  if (const long long* number = NumberOf(value)) {
    return *number != 0;
  }
  if (const double* fraction = FloatOf(value)) {
    return *fraction != 0;
  }
  if (const std::string* text = TextOf(value)) {
    return !text->empty();
  }
  if (const Value::List* list = ListOf(value)) {
    return !list->empty();
  }
  const Value::Map* map = MapOf(value);
  return map != nullptr && !map->empty();
}

void PrintTo(const Value& value, std::string& text) {
  if (text.size() > kLongestText) {
    return;
  }
  if (const bool* flag = std::get_if<bool>(&value.is)) {
    text += *flag ? "true" : "false";
  } else if (const long long* number = NumberOf(value)) {
    text += format("{}", *number);
  } else if (const double* fraction = FloatOf(value)) {
    text += FloatText(*fraction, 'g', -1);
  } else if (const std::string* part = TextOf(value)) {
    text += *part;
  } else if (const Value::List* list = ListOf(value)) {
    text += '[';
    for (const Value& element : *list) {
      text += &element == list->data() ? "" : " ";
      PrintTo(element, text);
    }
    text += ']';
  } else if (const Value::Map* map = MapOf(value)) {
    text += "map[";
    for (auto entry = map->begin(); entry != map->end(); ++entry) {
      text += format("{}{}:", entry == map->begin() ? "" : " ", entry->first);
      PrintTo(entry->second, text);
    }
    text += ']';
  } else {
    text += "<nil>";
  }
}

std::string Print(const Value& value) {
  std::string text;
  PrintTo(value, text);
  return text;
}

bool IsLess(const Value& left, const Value& right) {
  if (left.is.index() != right.is.index()) {
    return left.is.index() < right.is.index();
  }
  if (const Value::List* list = ListOf(left)) {
    return list != ListOf(right) &&
           std::ranges::lexicographical_compare(*list, *ListOf(right), IsLess);
  }
  if (const Value::Map* map = MapOf(left)) {
    return map != MapOf(right) && std::ranges::lexicographical_compare(
                                      *map, *MapOf(right), [](const auto& one, const auto& other) {
                                        return one.first != other.first
                                                   ? one.first < other.first
                                                   : IsLess(one.second, other.second);
                                      });
  }
  return left.is < right.is;  // of the shared ones, only null is left
}

}  // namespace gantry::nfd
