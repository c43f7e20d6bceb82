// SPDX-License-Identifier: Apache-2.0
// What in an object or a log would open something to whoever reads it? Decided by names and by the
// forms that such things have everywhere (RFC 3986 user information, RFC 6750, RFC 7519, RFC 7468):
// too much may go, nothing that is recognised may stay.
#include "operator/doctor/redact.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "kube/object.h"

namespace gantry::doctor {
namespace {

constexpr char kRemoved[] = "(removed)";
// What kubectl apply was given, as one text.
constexpr char kLastApplied[] = "kubectl.kubernetes.io/last-applied-configuration";
constexpr std::string_view kQuotes = "\"'\\";
constexpr std::string_view kEnd = " \t\r\n\"'\\,;&";

bool IsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

bool IsSecretName(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kParts = {
      "passw", "secret", "token", "credential", "apikey", "api_key", "api-key", ".tok", "private"};
  const std::string lower = Lower(name);
  return lower.ends_with("_key") || std::ranges::any_of(kParts, [&lower](std::string_view part) {
           return lower.find(part) != std::string::npos;
         });
}

// Everything between two marks.
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

// "https://user:password@host/": what stands before the '@'.
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
  constexpr std::string_view kBearer = "earer ";  // Bearer, bearer
  size_t at = 0;
  while ((at = text.find(kBearer, at)) != std::string::npos) {
    at += kBearer.size();
    const size_t end = std::min(text.find_first_of(kEnd, at), text.size());
    constexpr size_t kShortest = 12;  // words are shorter
    if (end - at >= kShortest) {
      text.replace(at, end - at, kRemoved);
    }
  }
  // Three parts in base64url; the first is an object of JSON, which begins with {".
  at = 0;
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

// "password=x", "password: x", "\"token\":\"x\"". After a colon a short word may be a sentence's.
void RemoveNamedValues(std::string& text) {
  size_t at = 0;
  while ((at = text.find_first_of("=:", at)) != std::string::npos) {
    size_t name_end = at;
    while (name_end > 0 && kQuotes.find(text[name_end - 1]) != std::string_view::npos) {
      --name_end;
    }
    size_t name = name_end;
    while (name > 0 && IsWord(text[name - 1])) {
      --name;
    }
    const std::string_view word = std::string_view(text).substr(name, name_end - name);
    const bool colon = text[at] == ':';
    const bool secret = IsSecretName(word);
    const bool password = secret && Lower(word).find("passw") != std::string::npos;
    const bool quoted = name_end < at;
    ++at;
    if (!secret) {
      continue;
    }
    size_t begin = at;
    while (begin < text.size() && (text[begin] == ' ' && colon)) {
      ++begin;
    }
    while (begin < text.size() && kQuotes.find(text[begin]) != std::string_view::npos) {
      ++begin;
    }
    const size_t end = std::min(text.find_first_of(kEnd, begin), text.size());
    constexpr size_t kSentence = 16;  // words of sentences are shorter
    if (end > begin && (!colon || password || quoted || end - begin >= kSentence)) {
      text.replace(begin, end - begin, kRemoved);
      at = begin + sizeof(kRemoved) - 1;
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

// {"name": "X_TOKEN", "value": "..."} wherever it stands.
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
