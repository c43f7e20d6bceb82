// SPDX-License-Identifier: Apache-2.0
// Which parts of an object or a log are credentials? Decided by names and by the common forms of
// credentials (RFC 3986 user information, RFC 6750, RFC 7617, RFC 7519, RFC 7468, netrc): it may
// remove too much, but never keeps a recognised credential.
#include "doctor/redact.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "kube/object.h"

namespace gantry::doctor {
namespace {

constexpr char kRemoved[] = "(removed)";
// The input of kubectl apply, as one string.
constexpr char kLastApplied[] = "kubectl.kubernetes.io/last-applied-configuration";
constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kWhite = " \t\r\n";
constexpr std::string_view kQuotes = "\"'\\";

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWord(char c) { return IsLower(c) || IsUpper(c) || IsDigit(c) || c == '_' || c == '-'; }

// "dbPass" and "DB-PASS" as "_db_pass": "passthrough" and "bypass" do not match "pass".
std::string InWords(std::string_view name) {
  std::string words = "_";
  for (size_t i = 0; i < name.size(); ++i) {
    if (i > 0 && IsUpper(name[i]) && IsLower(name[i - 1])) {
      words += '_';
    }
    words += name[i] == '-' || name[i] == '.' ? '_' : name[i];
  }
  return Lower(words);
}

bool IsPasswordName(std::string_view name) {
  const std::string lower = Lower(name);
  const std::string words = InWords(name);
  return lower.contains("passw") || lower.contains("passphrase") || words.ends_with("_pass") ||
         words.ends_with("_pwd");
}

// Docker's "auth" and HTTP's "Authorization"; they may also be words of a sentence.
bool IsAuthName(std::string_view name) {
  const std::string words = InWords(name);
  return words.ends_with("_auth") || words.ends_with("_authorization");
}

bool IsSecretName(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kParts = {
      "secret", "token", "credential", "apikey", "api_key", "api-key", ".tok", "private"};
  const std::string lower = Lower(name);
  return IsPasswordName(name) || IsAuthName(name) || lower.ends_with("_key") ||
         std::ranges::any_of(kParts,
                             [&lower](std::string_view part) { return lower.contains(part); });
}

// Whether it looks like a token or base64. A word has at most its first letter in upper case.
bool HasTokenForm(std::string_view value) {
  constexpr size_t kShortest = 8;
  return value.size() >= kShortest && std::ranges::any_of(value.substr(1), [](char c) {
           return IsUpper(c) || IsDigit(c) || c == '=';
         });
}

bool IsNoWord(std::string_view value) {
  constexpr size_t kLongestWord = 15;
  return value.size() > kLongestWord || HasTokenForm(value);
}

// A piece of a text.
struct Span {
  size_t begin = 0;
  size_t end = 0;
  bool quoted = false;
  [[nodiscard]] std::string_view In(std::string_view text) const {
    return text.substr(begin, end - begin);
  }
};

// The end of a value whose opening quote has so many backslashes before it: the next quote with as
// many (quotes inside have more), at the latest the end of the line.
size_t EndOfQuoted(std::string_view text, size_t begin, char quote, size_t backslashes) {
  size_t run = 0;
  size_t at = begin;
  for (; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == quote && run % (2 * (backslashes + 1)) == backslashes) {
      return at - backslashes;
    }
    run = text[at] == '\\' ? run + 1 : 0;
  }
  return at;
}

bool EndsWord(std::string_view text, size_t at) {
  const size_t after = text[at] == '\\' ? text.find_first_not_of('\\', at) : at;
  return kWhite.contains(text[at]) ||
         (after != std::string_view::npos && (text[after] == '"' || text[after] == '\''));
}

// The value after `at` in its line, without its quotes.
Span ValueAt(std::string_view text, size_t at) {
  const size_t begin = std::min(text.find_first_not_of(kBlanks, at), text.size());
  const size_t mark = std::min(text.find_first_not_of('\\', begin), text.size());
  if (mark < text.size() && (text[mark] == '"' || text[mark] == '\'')) {
    return {mark + 1, EndOfQuoted(text, mark + 1, text[mark], mark - begin), true};
  }
  size_t end = begin;
  while (end < text.size() && !EndsWord(text, end)) {
    ++end;
  }
  // Inside a value they may be part of it.
  while (end > begin && std::string_view(",;&").contains(text[end - 1])) {
    --end;
  }
  return {begin, end, false};
}

// Returns the position after it.
size_t Remove(std::string& text, const Span& span) {
  text.replace(span.begin, span.end - span.begin, kRemoved);
  return span.begin + sizeof(kRemoved) - 1;
}

// Everything between two markers.
void RemoveBlocks(std::string& text, std::string_view begin, std::string_view end) {
  size_t at = 0;
  while ((at = text.find(begin, at)) != std::string::npos) {
    const size_t last = text.find(end, at + begin.size());
    const size_t stop = last == std::string::npos ? text.size() : last + end.size();
    text.replace(at, stop - at, kRemoved);
    at += sizeof(kRemoved) - 1;
  }
}

void RemovePrivateKeys(std::string& text) {
  for (const char* kind : {"", "RSA ", "EC ", "ENCRYPTED ", "OPENSSH "}) {
    RemoveBlocks(text, format("-----BEGIN {}PRIVATE KEY-----", kind),
                 format("-----END {}PRIVATE KEY-----", kind));
  }
}

// "https://user:password@host/": the part before the '@'.
void RemoveUserInformation(std::string& text) {
  constexpr std::string_view kScheme = "://";
  size_t at = 0;
  while ((at = text.find(kScheme, at)) != std::string::npos) {
    at += kScheme.size();
    const size_t stop = std::min(text.find_first_of("/?# \t\r\n\"'\\<>", at), text.size());
    const size_t sign = text.rfind('@', stop);
    if (sign != std::string::npos && sign > at && sign < stop) {
      text.replace(at, sign - at, kRemoved);
    }
  }
}

void RemoveTokens(std::string& text) {
  // Schemes of HTTP's Authorization (RFC 6750, RFC 7617), which may also be words of a sentence.
  struct Scheme {
    std::string_view name;  // without the first letter, which may be upper or lower case
    size_t longest_word = std::string::npos;
  };
  for (const Scheme& scheme : {Scheme{"earer ", 11}, Scheme{"asic "}, Scheme{"oken "}}) {
    size_t at = 0;
    while ((at = text.find(scheme.name, at)) != std::string::npos) {
      at += scheme.name.size();
      const Span value = ValueAt(text, at);
      if (HasTokenForm(value.In(text)) || value.end - value.begin > scheme.longest_word) {
        at = Remove(text, value);
      }
    }
  }
  // Three parts in base64url; the first is a JSON object, which begins with {".
  size_t at = 0;
  while ((at = text.find("eyJ", at)) != std::string::npos) {
    size_t end = at;
    while (end < text.size() && (IsWord(text[end]) || text[end] == '.')) {
      ++end;
    }
    if (std::count(text.begin() + static_cast<long>(at), text.begin() + static_cast<long>(end),
                   '.') >= 2) {
      text.replace(at, end - at, kRemoved);
    } else {
      at = end;
    }
  }
}

// netrc and apt's auth.conf: "machine HOST login NAME password WORD", in one line or several.
void RemoveNetrcPasswords(std::string& text) {
  bool entry = false;  // inside such an entry
  std::string before;
  size_t at = 0;
  while ((at = text.find_first_not_of(kWhite, at)) != std::string::npos) {
    const size_t end = std::min(text.find_first_of(kWhite, at), text.size());
    const std::string key = text.substr(at, end - at);
    const size_t next = text.find_first_not_of(kWhite, end);
    const bool begins = key == "machine" || (key == "login" && before == "default");
    entry = begins ||
            (entry && (key == "login" || key == "account" || key == "password" || key == "port"));
    before = key;
    at = end;
    if (entry && next != std::string::npos) {
      at = key == "password" ? Remove(text, ValueAt(text, next))
                             : std::min(text.find_first_of(kWhite, next), text.size());
    }
  }
}

// "password=x", "password = x", "\"token\" : \"x\"". A short word after a colon may be part of a
// sentence.
void RemoveNamedValues(std::string& text) {
  size_t at = 0;
  while ((at = text.find_first_of("=:", at)) != std::string::npos) {
    const bool colon = text[at] == ':';
    const size_t sign = at++;
    size_t blanks = sign;
    while (blanks > 0 && kBlanks.contains(text[blanks - 1])) {
      --blanks;
    }
    size_t name_end = blanks;
    while (name_end > 0 && kQuotes.contains(text[name_end - 1])) {
      --name_end;
    }
    size_t begin = name_end;
    while (begin > 0 && IsWord(text[begin - 1])) {
      --begin;
    }
    const std::string_view name = std::string_view(text).substr(begin, name_end - begin);
    if (!IsSecretName(name)) {
      continue;
    }
    // ":=" and "=>" assign too.
    const Span value = ValueAt(text, std::min(text.find_first_not_of("=>", at), text.size()));
    const bool key_of_json = name_end < blanks && blanks == sign;
    const bool certain =
        !IsAuthName(name) && (!colon || IsPasswordName(name) || key_of_json || value.quoted);
    if (value.end > value.begin && (certain || IsNoWord(value.In(text)))) {
      at = Remove(text, value);
    }
  }
}

void RedactTexts(Json& value) {
  if (value.is_string()) {
    value = RedactedText(value.get_ref<const std::string&>());
  } else if (value.is_structured()) {
    for (Json& part : value) {
      RedactTexts(part);
    }
  }
}

// {"name": "X_TOKEN", "value": "..."} anywhere.
void RedactVariables(Json& value) {
  if (value.is_object() && value.contains("value") && value["value"].is_string() &&
      IsSecretName(TextAt(value, "name"))) {
    value["value"] = kRemoved;
  }
  if (value.is_structured()) {
    for (Json& part : value) {
      RedactVariables(part);
    }
  }
}

void RedactEntries(Json& object, const char* part, bool all) {
  if (!object.contains(part) || !object[part].is_object()) {
    return;
  }
  for (auto& [key, value] : object[part].items()) {
    if (all || IsSecretName(key)) {
      value = kRemoved;
    }
  }
}

}  // namespace

std::string RedactedText(std::string_view text) {
  std::string out(text);
  RemovePrivateKeys(out);
  RemoveUserInformation(out);
  RemoveTokens(out);
  RemoveNetrcPasswords(out);
  RemoveNamedValues(out);
  return out;
}

Json Redacted(Json object) {
  if (!object.is_object()) {
    return object;
  }
  if (At(object, "metadata.managedFields") != nullptr) {
    object["metadata"].erase("managedFields");
  }
  if (kube::AnnotationOf(object, kLastApplied) != nullptr) {
    object["metadata"]["annotations"].erase(kLastApplied);
  }
  const std::string kind = TextAt(object, "kind");
  for (const char* part : {"data", "stringData", "binaryData"}) {
    if (kind == "Secret" || kind == "ConfigMap") {
      RedactEntries(object, part, kind == "Secret");
    }
  }
  RedactVariables(object);
  RedactTexts(object);
  return object;
}

}  // namespace gantry::doctor
