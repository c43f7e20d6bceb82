// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "nfd/go_template.h"

namespace gantry::nfd {

// The maximum length of a template's output, and of a string within it, in bytes.
constexpr size_t kLongestText = 64UL * 1024;

// The value as that type; null if it has another.
const Value::List* ListOf(const Value& value);
const Value::Map* MapOf(const Value& value);
const std::string* TextOf(const Value& value);
const long long* NumberOf(const Value& value);
const double* FloatOf(const Value& value);

Value Of(bool value);
Value Of(long long value);
Value Of(double value);
Value Of(std::string value);
Value Of(Value::List value);

// Go's truth: not zero, not empty.
bool IsTrue(const Value& value);
// Appends to `text` as fmt's %v; grows little beyond kLongestText, because a list may contain the
// same string many times.
void PrintTo(const Value& value, std::string& text);
std::string Print(const Value& value);
// A total order, used to find equal values.
bool IsLess(const Value& left, const Value& right);

}  // namespace gantry::nfd
