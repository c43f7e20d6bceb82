// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// Facts from texts of containerd's configuration. A text that is not TOML has none.
namespace gantry::container {

// Of the program, from `containerd --version`; 0.0 if unknown.
struct ContainerdVersion {
  int major = 0;
  int minor = 0;
  auto operator<=>(const ContainerdVersion&) const = default;
};
ContainerdVersion ParseContainerdVersion(std::string_view output);

// The `imports` of a file as written.
std::vector<std::string> ContainerdImports(std::string_view text);

// The same of the file at `text_path`, as absolute patterns.
std::vector<std::string> ImportPatterns(std::string_view text, const std::string& text_path);

// Whether that file names a path in its `imports`.
bool ImportsPath(std::string_view text, const std::string& text_path, const std::string& path);

// Whether a file has the CRI plugin's table, of whatever schema.
bool ConfiguresCri(std::string_view text);

// Which of a file's disabled_plugins is the CRI plugin or a part of it, by any of its names; empty:
// none. If one is disabled, no kubelet can use this containerd.
std::string DisabledCri(std::string_view text);

// The same text with its `imports` replaced, for a trial run with files elsewhere. Unchanged if it
// has none.
std::string WithImports(std::string_view text, const std::vector<std::string>& files);

// The output of `containerd config dump`, normalized: between two equal results no restart is
// needed. kInvalid if it is not TOML.
Result<std::string> EffectiveConfig(std::string_view dump);

// Runtime handlers in such a dump.
std::vector<std::string> HandlersInDump(std::string_view dump);

// Whether a configuration has this runtime handler with this program.
bool HasRuntime(std::string_view text, const std::string& name, const std::string& program);

}  // namespace gantry::container
