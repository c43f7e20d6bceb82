// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace gantry {

// Kubernetes objects, CDI and OCI documents are JSON values with typed access where it matters.
using Json = nlohmann::json;

// kInvalid with the position of the mistake. Never throws.
Result<Json> ParseJson(std::string_view text);

// The value at a dotted path of object keys ("spec.driver.enabled"), or nullptr. For a key that
// contains dots, use At(json, {"metadata", "labels", "nvidia.com/gpu.present"}).
const Json* At(const Json& json, std::string_view dotted_path);
const Json* At(const Json& json, std::initializer_list<std::string_view> keys);

// The list at a dotted path; empty if there is none. Lives as long as `json`.
const Json& ListAt(const Json& json, std::string_view dotted_path);

// The strings of a list; other elements are left out. Empty if it is not a list.
std::vector<std::string> TextsIn(const Json& list);
std::vector<std::string> TextsAt(const Json& json, std::string_view dotted_path);

// The value at a dotted path if it exists and has that type, else the fallback.
std::string TextAt(const Json& json, std::string_view dotted_path, std::string_view fallback = "");
bool BoolAt(const Json& json, std::string_view dotted_path, bool fallback);
long long IntAt(const Json& json, std::string_view dotted_path, long long fallback);

}  // namespace gantry
