// SPDX-License-Identifier: Apache-2.0
// Which labels do the files of features.d ask for, now? The format is NFD's (its local source): one
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

constexpr std::string_view kExpiry = "+expiry-time=";
constexpr std::string_view kNoLabel = "+no-label";
constexpr std::string_view kNoFeature = "+no-feature";

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
  // What the clock can count, in nanoseconds since 1970, ends in 2262.
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

class Reader {
 public:
  Reader(LocalFeatures& into, WallTime now) : into_(into), now_(now) {}

  void Read(const LocalFile& file) {
    expiry_.reset();
    no_label_ = false;
    no_feature_ = false;
    for (const std::string& raw : Split(file.text, '\n')) {
      const std::string_view line = Trim(raw);
      if (line.starts_with('#')) {
        ReadComment(file.name, std::string(Trim(line.substr(1))));
      } else if (!line.empty()) {
        ReadLabel(file.name, line);
      }
    }
  }

 private:
  void ReadComment(const std::string& file, const std::string& comment) {
    if (comment.starts_with(kExpiry)) {
      expiry_ = ParseRfc3339(comment.substr(kExpiry.size()));
      if (!expiry_.has_value()) {
        Warn(file, format("\"{}\" is no time", comment.substr(kExpiry.size())));
      }
    } else if (comment == kNoLabel) {
      no_label_ = true;
    } else if (comment == kNoFeature) {
      no_feature_ = true;
    } else if (comment.starts_with('+')) {
      Warn(file, format("unknown directive \"{}\"", comment));
    }
  }

  void ReadLabel(const std::string& file, std::string_view line) {
    const bool label = !std::exchange(no_label_, false);
    const bool feature = !std::exchange(no_feature_, false);
    if (expiry_.has_value()) {
      if (*expiry_ <= now_) {
        return;
      }
      into_.next_expiry = std::min(*expiry_, into_.next_expiry.value_or(*expiry_));
    }
    const size_t equals = line.find('=');
    const std::string key(Trim(line.substr(0, equals)));
    const std::string value(equals == std::string_view::npos ? std::string_view("true")
                                                             : Trim(line.substr(equals + 1)));
    if (feature) {
      into_.features.insert_or_assign(key, value);
    }
    if (!label) {
      return;
    }
    const auto [entry, added] = into_.labels.insert_or_assign(key, value);
    if (!added && from_[key] != file) {
      Warn(file, format("{} is also in {}; the later file wins", key, from_[key]));
    }
    from_[key] = file;
  }

  void Warn(const std::string& file, const std::string& text) {
    into_.warnings.push_back(format("features.d/{}: {}", file, text));
  }

  LocalFeatures& into_;
  const WallTime now_;
  std::optional<WallTime> expiry_;
  bool no_label_ = false;
  bool no_feature_ = false;
  LabelMap from_;  // label -> file
};

}  // namespace

LocalFeatures ReadLocalFiles(std::vector<LocalFile> files, WallTime now) {
  LocalFeatures labels;
  Reader reader(labels, now);
  std::ranges::sort(files, {}, &LocalFile::name);
  for (const LocalFile& file : files) {
    reader.Read(file);
  }
  return labels;
}

}  // namespace gantry::node_features
