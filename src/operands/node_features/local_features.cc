// SPDX-License-Identifier: Apache-2.0
// Which labels do the files of features.d request now? The format is NFD's (its local source): one
// label a line, directives in comments.
#include "operands/node_features/local_features.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <limits>
#include <utility>

#include "base/text.h"

namespace gantry::node_features {
namespace {

// Other lines that begin with '#' are comments.
constexpr std::string_view kDirective = "# +";

// "2026-01-02T03:04:05Z" or with an offset "+01:00"; fractions of a second are dropped.
std::optional<WallTime> ParseRfc3339(const std::string& text) {
  std::tm parts{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) {
    return std::nullopt;
  }
  if (*rest == '.') {
    rest += 1 + std::string_view(rest + 1).find_first_not_of("0123456789");
  }
  // The clock's range, in nanoseconds since 1970, ends in 2262.
  constexpr time_t kLast = std::numeric_limits<int64_t>::max() / 1'000'000'000 - 400'000;
  const WallTime utc =
      std::chrono::system_clock::from_time_t(std::clamp<time_t>(timegm(&parts), 0, kLast));
  if (std::string_view(rest) == "Z" || std::string_view(rest) == "z") {
    return utc;
  }
  char sign = 0;
  int hours = 0;
  int minutes = 0;
  if (std::sscanf(rest, "%c%2d:%2d", &sign, &hours, &minutes) != 3 ||
      (sign != '+' && sign != '-')) {
    return std::nullopt;
  }
  const auto offset = std::chrono::hours(hours) + std::chrono::minutes(minutes);
  return sign == '+' ? utc - offset : utc + offset;
}

class LocalReader {
 public:
  LocalReader(LocalFeatures& into, WallTime now) : into_(into), now_(now) {}

  void Read(const LocalFile& file) {
    Contents contents;
    for (const std::string& raw : Split(file.text, '\n')) {
      const std::string_view line = Trim(raw);
      if (line.starts_with(kDirective)) {
        ReadDirective(file.name, line.substr(kDirective.size()), contents);
      } else if (!line.empty() && !line.starts_with('#')) {
        ReadLabel(line, contents);
      }
    }
    for (const auto& [key, value] : contents.features) {
      into_.features.insert_or_assign(key, value);
    }
    for (const auto& [key, value] : contents.labels) {
      if (const auto [other, first] = from_.try_emplace(key, file.name); !first) {
        Warn(file.name, format("{} is also in {}; the later file wins", key, other->second));
        other->second = file.name;
      }
      into_.labels.insert_or_assign(key, value);
    }
  }

 private:
  // The labels of one file, as far as it has been read.
  struct Contents {
    LabelMap labels;
    LabelMap features;
    std::optional<WallTime> expiry;
    bool no_label = false;
    bool no_feature = false;
  };

  void ReadDirective(const std::string& file, std::string_view directive, Contents& contents) {
    const size_t equals = directive.find('=');
    const std::string_view name = directive.substr(0, equals);
    if (name == "expiry-time") {
      const std::string value(
          equals == std::string_view::npos ? "" : Trim(directive.substr(equals + 1)));
      if (const auto expiry = ParseRfc3339(value); expiry.has_value()) {
        contents.expiry = expiry;
      } else {
        Warn(file, format("\"{}\" is no time", value));
      }
    } else if (name == "no-label") {
      contents.no_label = true;
    } else if (name == "no-feature") {
      contents.no_feature = true;
    } else {
      Warn(file, format("unknown directive \"{}\"", name));
    }
  }

  void ReadLabel(std::string_view line, Contents& contents) {
    const bool no_label = std::exchange(contents.no_label, false);
    const bool no_feature = std::exchange(contents.no_feature, false);
    if (contents.expiry.has_value()) {
      if (*contents.expiry <= now_) {
        return;
      }
      into_.next_expiry = std::min(*contents.expiry, into_.next_expiry.value_or(*contents.expiry));
    }
    const size_t equals = line.find('=');
    const std::string key(Trim(line.substr(0, equals)));
    const std::string value(equals == std::string_view::npos ? std::string_view("true")
                                                             : Trim(line.substr(equals + 1)));
    Set(key, value, no_feature, contents.features);
    Set(key, value, no_label, contents.labels);
  }

  static void Set(const std::string& key, const std::string& value, bool hidden, LabelMap& in) {
    if (hidden) {
      in.erase(key);
    } else {
      in.insert_or_assign(key, value);
    }
  }

  void Warn(const std::string& file, const std::string& text) {
    into_.warnings.push_back(format("features.d/{}: {}", file, text));
  }

  LocalFeatures& into_;
  const WallTime now_;
  LabelMap from_;  // label -> file
};

}  // namespace

LocalFeatures ReadLocalFiles(std::vector<LocalFile> files, WallTime now) {
  LocalFeatures labels;
  LocalReader reader(labels, now);
  std::ranges::sort(files, {}, &LocalFile::name);
  for (const LocalFile& file : files) {
    reader.Read(file);
  }
  return labels;
}

}  // namespace gantry::node_features
