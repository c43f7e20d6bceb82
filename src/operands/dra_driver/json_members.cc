// SPDX-License-Identifier: Apache-2.0
// Where in a document are an object's values, and how does Go write a string? NVIDIA's driver
// computes checksums over the text of its JSON.
#include "operands/dra_driver/json_members.h"

#include <cctype>
#include <cstddef>

#include "base/json.h"
#include "base/text.h"

namespace gantry::dra_driver {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Reads a document that is known to be JSON.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  void SkipSpace() {
    while (at_ < text_.size() && IsSpace(text_[at_])) {
      ++at_;
    }
  }
  // True, and past it, if the character comes next.
  bool Take(char c) {
    SkipSpace();
    const bool taken = at_ < text_.size() && text_[at_] == c;
    at_ += taken ? 1 : 0;
    return taken;
  }
  // The next value's text.
  std::string_view Value() {
    SkipSpace();
    const size_t begin = at_;
    size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        SkipString();
        if (depth == 0) {
          break;
        }
        continue;
      }
      if (c == '{' || c == '[') {
        ++depth;
      } else if ((c == '}' || c == ']') && depth > 0) {
        --depth;
        if (depth == 0) {
          ++at_;
          break;
        }
      } else if (depth == 0 && (c == ',' || c == '}' || c == ']' || c == ':' || IsSpace(c))) {
        break;
      }
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

 private:
  void SkipString() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      at_ += text_[at_] == '\\' ? 1 : 0;
    }
    ++at_;
  }

  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<std::map<std::string, std::string_view>> MembersOf(std::string_view object) {
  TRY_ASSIGN(const Json checked, ParseJson(object));
  if (!checked.is_object()) {
    return Fail(ErrorKind::kInvalid, "not a JSON object");
  }
  std::map<std::string, std::string_view> members;
  Scanner scanner(object);
  scanner.Take('{');
  while (!scanner.Take('}')) {
    TRY_ASSIGN(const Json key, ParseJson(scanner.Value()));
    scanner.Take(':');
    members[key.get<std::string>()] = scanner.Value();
    scanner.Take(',');
  }
  return members;
}

std::string GoString(std::string_view text) {
  // Escapes what JSON must escape; \b and \f as Go does since 1.22.
  const std::string quoted = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  for (size_t at = 0; at < quoted.size(); ++at) {
    const char c = quoted[at];
    if (c == '<' || c == '>' || c == '&') {
      out += format("\\u{:04x}", static_cast<unsigned>(c));
    } else if (quoted.compare(at, 3, "\xE2\x80\xA8") == 0 ||
               quoted.compare(at, 3, "\xE2\x80\xA9") == 0) {
      out += quoted[at + 2] == '\xA8' ? "\\u2028" : "\\u2029";
      at += 2;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace gantry::dra_driver
