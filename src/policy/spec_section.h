// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "policy/cluster_policy.h"

namespace gantry::policy {

// A section of a custom resource's spec, read field by field. An absent or null field, or an empty
// string, does not change `out`, so defaults are set at the variable. The first value of a wrong
// type or outside its enum is kept as the mistake (kInvalid, "spec.mig.strategy: ..."), and reading
// continues. The JSON and the mistake outlive it.
class SpecSection {
 public:
  SpecSection(const Json* value, std::string path, std::optional<Error>* mistake);

  [[nodiscard]] SpecSection In(std::string_view key) const;
  void Text(std::string_view key, std::string& out) const;
  void OneOf(std::string_view key, std::initializer_list<std::string_view> words,
             std::string& out) const;
  void Bool(std::string_view key, bool& out) const;
  void Number(std::string_view key, long long& out) const;
  void Texts(std::string_view key, std::vector<std::string>& out) const;
  void TextMap(std::string_view key, std::map<std::string, std::string>& out) const;
  // The list `env` of {name, value}.
  void Env(EnvVars& out) const;
  void Object(std::string_view key, Json& out) const;
  void Array(std::string_view key, Json& out) const;
  void Wrong(std::string_view key, std::string_view why) const;
  // The value as written; nullptr if it is absent or null.
  [[nodiscard]] const Json* Find(std::string_view key) const;

 private:
  [[nodiscard]] std::string Path(std::string_view key) const;

  const Json* value_;
  std::string path_;
  std::optional<Error>* mistake_;
};

}  // namespace gantry::policy
