// SPDX-License-Identifier: Apache-2.0
// Which CUDA is it? NVIDIA's packages have it in version.json ("cuda": {"version": "12.4.1"}; some
// releases have a date for the patch) and in the runtime library's full name
// (libcudart.so.12.4.127); an image may only have the library.
#include "operands/cuda_toolkit/cuda_version.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace gantry::cuda_toolkit {
namespace {

constexpr std::string_view kRuntime = "libcudart.so.";

bool IsNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// The first `count` numbers of a version; empty if it has fewer.
std::string First(std::string_view version, size_t count) {
  std::vector<std::string> parts = Split(version, '.');
  if (parts.size() < count) {
    return "";
  }
  parts.resize(count);
  return std::ranges::all_of(parts, IsNumber) ? Join(parts, ".") : "";
}

bool HasPatch(std::string_view version) {
  const std::vector<std::string> parts = Split(version, '.');
  constexpr size_t kDate = 8;
  return parts.size() > 2 && parts[2].size() < kDate && IsNumber(parts[2]);
}

Result<std::string> FromJson(const std::string& text) {
  if (text.empty()) {
    return "";
  }
  auto json = ParseJson(text);
  if (!json) {
    return std::unexpected(json.error().In("read version.json"));
  }
  const std::string version = TextAt(*json, "cuda.version");
  const std::string found = First(version, HasPatch(version) ? 3 : 2);
  if (found.empty()) {
    return Fail(ErrorKind::kInvalid, "read version.json: cuda.version is no version");
  }
  return found;
}

// The release in a full name: "libcudart.so.12.4.127" is 12.4; "libcudart.so.11.0" only names an
// interface.
std::string FromRuntime(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name.starts_with(kRuntime) && !First(name.substr(kRuntime.size()), 3).empty()) {
      return First(name.substr(kRuntime.size()), 2);
    }
  }
  return "";
}

}  // namespace

std::string ReleaseOf(std::string_view version) { return First(version, 2); }

Result<std::string> ToolkitVersion(const ToolkitFacts& facts, std::string_view wanted) {
  if (facts.runtimes.empty()) {
    return Fail(ErrorKind::kInvalid, format("it has no {}* in lib64 or lib, only {}", kRuntime,
                                            Join(facts.entries, ", ")));
  }
  TRY_ASSIGN(const std::string said, FromJson(facts.version_json));
  const std::string runtime = FromRuntime(facts.runtimes);
  if (said.empty() && runtime.empty()) {
    return Fail(ErrorKind::kInvalid,
                format("nothing says which release it is: it has no version.json, and {}",
                       Join(facts.runtimes, ", ")));
  }
  if (!said.empty() && !runtime.empty() && ReleaseOf(said) != runtime) {
    return Fail(ErrorKind::kInvalid,
                format("version.json says {}, and {} is there", said, Join(facts.runtimes, ", ")));
  }
  std::string found = said.empty() ? runtime : said;
  const bool other_patch = HasPatch(found) && HasPatch(wanted) && found != wanted;
  if (ReleaseOf(found) != ReleaseOf(wanted) || other_patch) {
    return Fail(ErrorKind::kInvalid, format("it is CUDA {}, not {}", found, wanted));
  }
  return found;
}

}  // namespace gantry::cuda_toolkit
