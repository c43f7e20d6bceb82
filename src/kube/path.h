// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "kube/kind.h"
#include "kube/object.h"

namespace gantry::kube {

// "/api/v1/nodes", "/apis/apps/v1/namespaces/a/daemonsets"; an empty namespace means all
// namespaces.
std::string CollectionPath(const Kind& kind, std::string_view ns);
// The same and "/name", and "/status" or another sub-resource if one is given.
std::string ObjectPath(const Kind& kind, const Key& key, std::string_view subresource = "");
// "/api/v1" or "/apis/group/version".
std::string GroupPath(const Kind& kind);
// Everything but RFC 3986's unreserved characters as %XX.
std::string PercentEncode(std::string_view text);

// "?a=b&c=d", values encoded; empty while nothing was added. Empty values are left out.
class Query {
 public:
  Query& Add(std::string_view name, std::string_view value);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace gantry::kube
