// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/text.h"

// One line a message on stderr: time, level, text. Logging is for the edges (an operand's main
// loop, a controller's runner, cli); a decision returns an Error instead.
namespace gantry::log {

enum class Level { kDebug, kInfo, kWarning, kError };

// Thread-safe; blocks only on stderr. Lines below the level are dropped.
void Write(Level level, std::string_view text);
void SetLevel(Level level);
// "debug", "info", "warning", "error" in any case (and zap's numbers 0..9 as debug); kInvalid
// otherwise.
Result<Level> ParseLevel(std::string_view text);

template <typename... Args>
void Debug(fmt::format_string<Args...> text, Args&&... args) {
  Write(Level::kDebug, fmt::format(text, std::forward<Args>(args)...));
}
template <typename... Args>
void Info(fmt::format_string<Args...> text, Args&&... args) {
  Write(Level::kInfo, fmt::format(text, std::forward<Args>(args)...));
}
template <typename... Args>
void Warning(fmt::format_string<Args...> text, Args&&... args) {
  Write(Level::kWarning, fmt::format(text, std::forward<Args>(args)...));
}
template <typename... Args>
void Error(fmt::format_string<Args...> text, Args&&... args) {
  Write(Level::kError, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace gantry::log
