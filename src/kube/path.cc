// SPDX-License-Identifier: Apache-2.0
// Which URL path does an object or a collection have (Kubernetes API concepts, "Resource URIs")?
// Names are untrusted, so each part is encoded: a name cannot add a path segment.
#include "kube/path.h"

namespace gantry::kube {

std::string PercentEncode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    const bool alphanumeric =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (alphanumeric || c == '-' || c == '.' || c == '_' || c == '~') {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += '%';
      encoded += kHex[byte >> 4U];
      encoded += kHex[byte & 15U];
    }
  }
  return encoded;
}

std::string GroupPath(const Kind& kind) {
  return (kind.group.empty() ? "/api/" : "/apis/") + kind.ApiVersion();
}

std::string CollectionPath(const Kind& kind, std::string_view ns) {
  std::string path = GroupPath(kind);
  if (kind.namespaced && !ns.empty()) {
    path += "/namespaces/" + PercentEncode(ns);
  }
  path += '/';
  path += kind.plural;
  return path;
}

std::string ObjectPath(const Kind& kind, const Key& key, std::string_view subresource) {
  std::string path = CollectionPath(kind, key.ns) + '/' + PercentEncode(key.name);
  if (!subresource.empty()) {
    path += '/';
    path += subresource;
  }
  return path;
}

Query& Query::Add(std::string_view name, std::string_view value) {
  if (!value.empty()) {
    text_ += text_.empty() ? '?' : '&';
    text_ += name;
    text_ += '=';
    text_ += PercentEncode(value);
  }
  return *this;
}

}  // namespace gantry::kube
