// SPDX-License-Identifier: Apache-2.0
// How is JSON read without exceptions, and without a check for each key on the way?
#include "base/json.h"

#include "base/text.h"

namespace gantry {

Result<Json> ParseJson(std::string_view text) {
  // The library takes a NUL for the end of the text.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return Fail(ErrorKind::kInvalid, format("parse json: a NUL at byte {}", nul));
  }
  try {
    return Json::parse(text);
  } catch (const Json::exception& e) {
    return Fail(ErrorKind::kInvalid, format("parse json: {}", e.what()));
  }
}

const Json* At(const Json& json, std::string_view dotted_path) {
  const Json* here = &json;
  while (true) {
    const size_t dot = dotted_path.find('.');
    if (!here->is_object()) {
      return nullptr;
    }
    const auto found = here->find(dotted_path.substr(0, dot));
    if (found == here->end()) {
      return nullptr;
    }
    here = &*found;
    if (dot == std::string_view::npos) {
      return here;
    }
    dotted_path.remove_prefix(dot + 1);
  }
}

const Json* At(const Json& json, std::initializer_list<std::string_view> keys) {
  const Json* here = &json;
  for (std::string_view key : keys) {
    if (!here->is_object()) {
      return nullptr;
    }
    const auto found = here->find(key);
    if (found == here->end()) {
      return nullptr;
    }
    here = &*found;
  }
  return here;
}

const Json& ListAt(const Json& json, std::string_view dotted_path) {
  static const Json kEmpty = Json::array();
  const Json* list = At(json, dotted_path);
  return list != nullptr && list->is_array() ? *list : kEmpty;
}

std::vector<std::string> TextsIn(const Json& list) {
  std::vector<std::string> texts;
  if (list.is_array()) {
    for (const Json& entry : list) {
      if (entry.is_string()) {
        texts.push_back(entry.get<std::string>());
      }
    }
  }
  return texts;
}

std::vector<std::string> TextsAt(const Json& json, std::string_view dotted_path) {
  return TextsIn(ListAt(json, dotted_path));
}

std::string TextAt(const Json& json, std::string_view dotted_path, std::string_view fallback) {
  const Json* value = At(json, dotted_path);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string(fallback);
}

bool BoolAt(const Json& json, std::string_view dotted_path, bool fallback) {
  const Json* value = At(json, dotted_path);
  return value != nullptr && value->is_boolean() ? value->get<bool>() : fallback;
}

long long IntAt(const Json& json, std::string_view dotted_path, long long fallback) {
  const Json* value = At(json, dotted_path);
  return value != nullptr && value->is_number_integer() ? value->get<long long>() : fallback;
}

}  // namespace gantry
