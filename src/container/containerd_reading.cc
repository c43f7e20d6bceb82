// SPDX-License-Identifier: Apache-2.0
// What does a file of containerd's configuration say: which files it imports, which handlers it
// has, whether the CRI plugin is enabled?
#include "container/containerd_reading.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "base/paths.h"
#include "base/text.h"
#include "container/containerd_runtimes.h"
#include "container/toml_text.h"

namespace gantry::container {
namespace {

// The strings of a list at the root of a file.
std::vector<std::string> TextsAt(std::string_view text, std::string_view key) {
  std::vector<std::string> texts;
  const auto root = ParseToml(text);
  const toml::node* node = root ? root->get(key) : nullptr;
  if (node == nullptr || node->as_array() == nullptr) {
    return texts;
  }
  for (const toml::node& element : *node->as_array()) {
    if (const auto one = element.value<std::string>()) {
      texts.push_back(*one);
    }
  }
  return texts;
}

}  // namespace

ContainerdVersion ParseContainerdVersion(std::string_view output) {
  // "containerd github.com/containerd/containerd/v2 v2.4.2 <revision>"
  ContainerdVersion version;
  for (const std::string& word : Split(output, ' ')) {
    const char* begin = word.c_str() + (word.starts_with("v") ? 1 : 0);
    const char* end = word.c_str() + word.size();
    int major = 0;
    int minor = 0;
    const auto first = std::from_chars(begin, end, major);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') {
      continue;
    }
    if (std::from_chars(first.ptr + 1, end, minor).ec == std::errc()) {
      version = {major, minor};
      break;
    }
  }
  return version;
}

bool ConfiguresCri(std::string_view text) {
  const auto config = ParseToml(text);
  return config && std::ranges::any_of(std::array{1, 2, 3}, [&](int schema) {
           return CriTable(*config, schema) != nullptr;
         });
}

std::vector<std::string> ContainerdImports(std::string_view text) {
  return TextsAt(text, "imports");
}

std::string DisabledCri(std::string_view text) {
  // containerd 2 has two plugins instead of one, and 1.x also accepted the short name.
  constexpr std::array<std::string_view, 4> kNames = {"cri", "io.containerd.grpc.v1.cri",
                                                      "io.containerd.cri.v1.runtime",
                                                      "io.containerd.cri.v1.images"};
  const std::vector<std::string> off = TextsAt(text, "disabled_plugins");
  const auto cri = std::ranges::find_first_of(off, kNames);
  return cri == off.end() ? "" : *cri;
}

std::vector<std::string> ImportPatterns(std::string_view text, const std::string& text_path) {
  std::vector<std::string> patterns = ContainerdImports(text);
  for (std::string& pattern : patterns) {
    // One spelling for a path, because patterns are compared with paths.
    pattern = std::filesystem::path(
                  pattern.starts_with("/") ? pattern : JoinPath(ParentOf(text_path), pattern))
                  .lexically_normal()
                  .string();
  }
  return patterns;
}

bool ImportsPath(std::string_view text, const std::string& text_path, const std::string& path) {
  return std::ranges::any_of(ImportPatterns(text, text_path), [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME) == 0;
  });
}

std::string WithImports(std::string_view text, const std::vector<std::string>& files) {
  const auto root = ParseToml(text);
  const toml::node* node = root ? root->get("imports") : nullptr;
  if (node == nullptr) {
    return std::string(text);
  }
  std::vector<std::string> quoted;
  quoted.reserve(files.size());
  for (const std::string& file : files) {
    quoted.push_back("\"" + file + "\"");
  }
  const size_t begin = OffsetOf(text, node->source().begin);
  const size_t end = OffsetOf(text, node->source().end);
  return format("{}[{}]{}", text.substr(0, begin), Join(quoted, ", "), text.substr(end));
}

Result<std::string> EffectiveConfig(std::string_view dump) {
  TRY_ASSIGN(toml::table config, ParseToml(dump));
  config.erase("imports");
  return TomlText(config);
}

std::vector<std::string> HandlersInDump(std::string_view dump) {
  std::vector<std::string> handlers;
  const auto config = ParseToml(dump);
  if (!config) {
    return handlers;
  }
  for (const int schema : {1, 2, 3}) {
    const toml::table* runtimes =
        TableAt(*config, {"plugins", CriPlugin(schema), "containerd", "runtimes"});
    if (runtimes == nullptr) {
      continue;
    }
    for (const auto& [name, runtime] : *runtimes) {
      handlers.emplace_back(name.str());
    }
  }
  return handlers;
}

bool HasRuntime(std::string_view text, const std::string& name, const std::string& program) {
  const auto config = ParseToml(text);
  return config && std::ranges::any_of(std::array{1, 2, 3}, [&](int schema) {
           return RunsProgram(
               TableAt(*config, {"plugins", CriPlugin(schema), "containerd", "runtimes", name}),
               program);
         });
}

}  // namespace gantry::container
