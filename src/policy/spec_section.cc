// SPDX-License-Identifier: Apache-2.0

// What does one section of a custom resource say? The API server's schema checks types, but an
// object may be older than the schema, so each read checks again and names its field.

#include "policy/spec_section.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::policy {

SpecSection::SpecSection(const Json* value, std::string path, std::optional<Error>* mistake)
    : value_(value), path_(std::move(path)), mistake_(mistake) {
  if (value_ != nullptr && value_->is_null()) {
    value_ = nullptr;
  }
  if (value_ != nullptr && !value_->is_object()) {
    Wrong("", "must be an object");
    value_ = nullptr;
  }
}

SpecSection SpecSection::In(std::string_view key) const { return {Find(key), Path(key), mistake_}; }

void SpecSection::Text(std::string_view key, std::string& out) const {
  if (const Json* found = Find(key)) {
    if (!found->is_string()) {
      Wrong(key, "must be a string");
    } else if (!found->get_ref<const std::string&>().empty()) {
      out = found->get<std::string>();
    }
  }
}

void SpecSection::OneOf(std::string_view key, std::initializer_list<std::string_view> words,
                        std::string& out) const {
  std::string value;
  Text(key, value);
  if (value.empty()) {
    return;
  }
  if (std::ranges::find(words, value) == words.end()) {
    std::vector<std::string> all(words.begin(), words.end());
    Wrong(key, format("\"{}\" is none of {}", value, Join(all, ", ")));
    return;
  }
  out = value;
}

void SpecSection::Bool(std::string_view key, bool& out) const {
  if (const Json* found = Find(key)) {
    if (!found->is_boolean()) {
      Wrong(key, "must be true or false");
    } else {
      out = found->get<bool>();
    }
  }
}

void SpecSection::Number(std::string_view key, long long& out) const {
  if (const Json* found = Find(key)) {
    if (!found->is_number_integer()) {
      Wrong(key, "must be a whole number");
    } else {
      out = found->get<long long>();
    }
  }
}

void SpecSection::Texts(std::string_view key, std::vector<std::string>& out) const {
  const Json* found = Find(key);
  if (found == nullptr) {
    return;
  }
  if (!found->is_array() ||
      !std::ranges::all_of(*found, [](const Json& item) { return item.is_string(); })) {
    Wrong(key, "must be a list of strings");
    return;
  }
  out = found->get<std::vector<std::string>>();
}

void SpecSection::TextMap(std::string_view key, std::map<std::string, std::string>& out) const {
  const Json* found = Find(key);
  if (found == nullptr) {
    return;
  }
  if (!found->is_object() ||
      !std::ranges::all_of(*found, [](const Json& item) { return item.is_string(); })) {
    Wrong(key, "must be a map of strings");
    return;
  }
  out = found->get<std::map<std::string, std::string>>();
}

void SpecSection::Env(EnvVars& out) const {
  const Json* found = Find("env");
  if (found == nullptr) {
    return;
  }
  if (!found->is_array()) {
    Wrong("env", "must be a list");
    return;
  }
  for (const Json& item : *found) {
    if (TextAt(item, "name").empty()) {
      Wrong("env", "an entry has no name");
      return;
    }
    out.emplace_back(TextAt(item, "name"), TextAt(item, "value"));
  }
}

void SpecSection::Object(std::string_view key, Json& out) const {
  if (const Json* found = Find(key)) {
    if (!found->is_object()) {
      Wrong(key, "must be an object");
    } else if (!found->empty()) {
      out = *found;
    }
  }
}

void SpecSection::Array(std::string_view key, Json& out) const {
  if (const Json* found = Find(key)) {
    if (!found->is_array()) {
      Wrong(key, "must be a list");
    } else if (!found->empty()) {
      out = *found;
    }
  }
}

void SpecSection::Wrong(std::string_view key, std::string_view why) const {
  if (!mistake_->has_value()) {
    *mistake_ = Error{ErrorKind::kInvalid, format("{}: {}", Path(key), why)};
  }
}

const Json* SpecSection::Find(std::string_view key) const {
  if (value_ == nullptr) {
    return nullptr;
  }
  const auto found = value_->find(key);
  return found == value_->end() || found->is_null() ? nullptr : &*found;
}

std::string SpecSection::Path(std::string_view key) const {
  return key.empty() ? path_ : format("{}.{}", path_, key);
}

}  // namespace gantry::policy
