// SPDX-License-Identifier: Apache-2.0
// How does a Gantry program log? Only this file includes spdlog: its headers cost seconds in each
// file that includes them.
#define SPDLOG_FMT_EXTERNAL
#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace gantry::log {
namespace {

spdlog::logger& Logger() {
  static spdlog::logger logger = [] {
    spdlog::logger made("gantry", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made.set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %L %v", spdlog::pattern_time_type::utc);
    made.flush_on(spdlog::level::info);
    return made;
  }();
  return logger;
}

spdlog::level::level_enum ToSpdlog(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarning:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

}  // namespace

void Write(Level level, std::string_view text) {
  Logger().log(ToSpdlog(level), spdlog::string_view_t(text.data(), text.size()));
}

void SetLevel(Level level) { Logger().set_level(ToSpdlog(level)); }

Result<Level> ParseLevel(std::string_view text) {
  const std::string level = Lower(text);
  if (level == "debug" || ParseInt(level).has_value()) {
    return Level::kDebug;
  }
  if (level == "info") {
    return Level::kInfo;
  }
  if (level == "warning" || level == "warn") {
    return Level::kWarning;
  }
  if (level == "error" || level == "panic" || level == "fatal") {
    return Level::kError;
  }
  return Fail(ErrorKind::kInvalid,
              format("log level \"{}\" is none of debug, info, warning, error", text));
}

}  // namespace gantry::log
