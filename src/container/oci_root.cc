// SPDX-License-Identifier: Apache-2.0
// Where is the root of a container? This runs at every container start, so it only scans the
// brackets and quotes of the rest of the document, and makes no values of it.
#include "container/oci_root.h"

#include "base/json.h"

namespace gantry::container {
namespace {

constexpr size_t kEnd = std::string_view::npos;

size_t SkipSpace(std::string_view text, size_t at) {
  const size_t found = text.find_first_not_of(" \t\r\n", at);
  return found == kEnd ? text.size() : found;
}

// One past the string whose opening quote is at `at`; kEnd if it does not end.
size_t SkipText(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    at += text[at] == '\\' ? 1 : 0;
  }
  return at < text.size() ? at + 1 : kEnd;
}

// One past the value that begins at `at`; kEnd if it does not end.
size_t SkipValue(std::string_view text, size_t at) {
  size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = SkipText(text, at);
      if (at == kEnd) {
        return kEnd;
      }
      if (depth == 0) {
        return at;
      }
      continue;
    }
    if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) {
        return at;  // of the object around a number or a word
      }
      if (--depth == 0) {
        return at + 1;
      }
    } else if (c == ',' && depth == 0) {
      return at;
    }
    ++at;
  }
  return kEnd;
}

bool IsRoot(std::string_view quoted) {
  if (quoted.find('\\') == kEnd) {
    return quoted == "\"root\"";
  }
  const auto key = ParseJson(quoted);
  return key && *key == "root";
}

}  // namespace

std::string OciRootPath(std::string_view config) {
  std::string path;
  size_t at = SkipSpace(config, 0);
  if (at == config.size() || config[at] != '{') {
    return "";
  }
  at = SkipSpace(config, at + 1);
  while (at < config.size() && config[at] == '"') {
    const size_t key_end = SkipText(config, at);
    if (key_end == kEnd) {
      return "";
    }
    const bool root = IsRoot(config.substr(at, key_end - at));
    const size_t colon = SkipSpace(config, key_end);
    if (colon == config.size() || config[colon] != ':') {
      return "";
    }
    const size_t value = SkipSpace(config, colon + 1);
    const size_t end = SkipValue(config, value);
    if (end == kEnd) {
      return "";
    }
    if (root) {
      const auto json = ParseJson(config.substr(value, end - value));
      path = json ? TextAt(*json, "path") : "";
    }
    at = SkipSpace(config, end);
    if (at < config.size() && config[at] == ',') {
      at = SkipSpace(config, at + 1);
    }
  }
  return at < config.size() && config[at] == '}' ? path : "";
}

}  // namespace gantry::container
