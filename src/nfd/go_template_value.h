// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "nfd/go_template.h"

namespace gantry::nfd {

// What a template may come to, and a text within it, in bytes.
constexpr size_t kLongestText = 64UL * 1024;

// What the value is, or null: something else.
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

// Go's rule of truth: not zero, not empty.
bool IsTrue(const Value& value);
// As fmt's %v has it, behind `text`, which grows little beyond kLongestText: a list may name the
// same text many times.
void PrintTo(const Value& value, std::string& text);
std::string Print(const Value& value);
// Some total order, by which equal values are found.
bool IsLess(const Value& left, const Value& right);

}  // namespace gantry::nfd
