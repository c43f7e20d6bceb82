// SPDX-License-Identifier: Apache-2.0
// Which metrics does a file of counters ask for? The form is Go's encoding/csv, as dcgm-exporter
// uses it. What would break a scrape there, or make one value twice, is left out with a warning.
#include "operands/metrics_exporter/counters.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "base/text.h"

namespace gantry::metrics_exporter {
namespace {

constexpr size_t kColumns = 3;
constexpr size_t kColumnsWithAlias = 6;
constexpr size_t kLongest = 1 << 20;

struct Row {
  size_t line;
  std::vector<std::string> values;
};

std::unexpected<Error> FailAt(size_t line, std::string_view reason) {
  return Fail(ErrorKind::kInvalid, format("read line {}: {}", line, reason));
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const size_t first = text.find_first_not_of(kBlank);
  return first == std::string_view::npos
             ? ""
             : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Where the first bytes lie that are no UTF-8 (RFC 3629); the text's size: all of it is UTF-8.
size_t FirstNotUtf8(std::string_view text) {
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const auto ones = static_cast<size_t>(std::countl_one(first));
    const size_t length = ones == 0 ? 1 : ones;
    if (ones == 1 || ones > 4 || text.size() - at < length) {
      return at;
    }
    uint32_t code = ones == 0 ? first : first & (0x7FU >> ones);
    for (const char next : text.substr(at + 1, length - 1)) {
      if ((static_cast<unsigned char>(next) & 0xC0U) != 0x80U) {
        return at;
      }
      code = code << 6U | (static_cast<unsigned char>(next) & 0x3FU);
    }
    const bool is_surrogate = code >= 0xD800 && code < 0xE000;
    if (is_surrogate || code > 0x10FFFF || (ones > 0 && code < kSmallest[length])) {
      return at;
    }
    at += length;
  }
  return text.size();
}

// The rows of the text one after another.
class Rows {
 public:
  explicit Rows(std::string_view text) : rest_(text) {}

  // nullopt: there are no more.
  Result<std::optional<Row>> Next() {
    while (!rest_.empty()) {
      const std::string_view line = Line();
      if (line.empty() || line == "\r" || line.front() == '#') {
        Take(line.size() + 1);
        continue;
      }
      return ReadRow();
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::string_view Line() const { return rest_.substr(0, rest_.find('\n')); }

  void Take(size_t count) {
    const std::string_view taken = rest_.substr(0, count);
    line_ += static_cast<size_t>(std::ranges::count(taken, '\n'));
    rest_.remove_prefix(taken.size());
  }

  Result<std::optional<Row>> ReadRow() {
    Row row{.line = line_, .values = {}};
    while (true) {
      TRY_ASSIGN(const bool last, ReadValue(row));
      if (last) {
        return row;
      }
    }
  }

  // True if it is the last of its row.
  Result<bool> ReadValue(Row& row) {
    std::string value;
    if (rest_.starts_with('"')) {
      TRY_ASSIGN(value, ReadQuoted());
    } else {
      const size_t end = rest_.find_first_of(",\n");
      const std::string_view plain = rest_.substr(0, end);
      if (plain.contains('"')) {
        return FailAt(line_, format("value {}: a quote inside a value that is not quoted",
                                    row.values.size() + 1));
      }
      value = plain;
      Take(plain.size());
    }
    row.values.emplace_back(Trimmed(value));
    if (rest_.starts_with(',')) {
      Take(1);
      return false;
    }
    Take(1);
    return true;
  }

  Result<std::string> ReadQuoted() {
    const size_t begun = line_;
    std::string value;
    Take(1);
    while (!rest_.empty()) {
      if (!rest_.starts_with('"')) {
        const std::string_view part = rest_.substr(0, rest_.find('"'));
        value += part;
        Take(part.size());
        continue;
      }
      Take(1);
      if (rest_.starts_with('"')) {
        value += '"';
        Take(1);
        continue;
      }
      if (rest_.starts_with('\r')) {
        Take(1);
      }
      if (!rest_.empty() && !rest_.starts_with(',') && !rest_.starts_with('\n')) {
        return FailAt(line_, "something follows the end of a quoted value");
      }
      return value;
    }
    return FailAt(begun, "a quoted value has no end");
  }

  std::string_view rest_;
  size_t line_ = 1;
};

enum class Asked { kMetric, kLabel };

struct AskedType {
  Asked asked;
  Type type;
};

Result<AskedType> ParseType(const Row& row) {
  const std::string& type = row.values[1];
  if (type == "gauge") {
    return AskedType{Asked::kMetric, Type::kGauge};
  }
  if (type == "counter") {
    return AskedType{Asked::kMetric, Type::kCounter};
  }
  if (type == "untyped") {
    return AskedType{Asked::kMetric, Type::kUntyped};
  }
  if (type == "label") {
    return AskedType{Asked::kLabel, Type::kGauge};
  }
  return FailAt(row.line, format("type \"{}\" of {}: not gauge, counter, untyped or label", type,
                                 row.values[0]));
}

std::unexpected<Error> FailUnknown(const Row& row) {
  const std::string nearest = NearestName(row.values[0]);
  return FailAt(row.line, format("field \"{}\" does not exist{}", row.values[0],
                                 nearest.empty() ? "" : format(" (perhaps {})", nearest)));
}

bool IsMetricName(std::string_view name) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:0123456789";
  return !name.empty() && !(name.front() >= '0' && name.front() <= '9') &&
         !name.starts_with("__") && name.find_first_not_of(kLetters) == std::string_view::npos;
}

Result<double> ParseFactor(const Row& row) {
  const std::string& text = row.values[5];
  double factor = 1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (!text.empty() && (error != std::errc{} || end != text.data() + text.size() ||
                        !std::isfinite(factor) || factor == 0)) {
    return FailAt(row.line, format("factor \"{}\": not a number other than 0", text));
  }
  return factor;
}

// The second metric of a row.
Status AddAlias(const Row& row, const Counter& counter, Counters& to) {
  const std::string& name = row.values[3];
  if (!IsMetricName(name)) {
    return FailAt(row.line, format("alias \"{}\": not a metric's name", name));
  }
  TRY_ASSIGN(const double factor, ParseFactor(row));
  Counter alias = counter;
  alias.name = name;
  alias.help = row.values[4];
  if (factor != 1) {
    if (alias.field.from != From::kNvml && alias.field.from != From::kGpm &&
        alias.field.from != From::kLinkBytes) {
      return FailAt(row.line, format("factor of {}: {} can't be multiplied", name, counter.name));
    }
    alias.field.factor *= factor;
    if (alias.field.shape == Shape::kWhole) {
      alias.field.shape = Shape::kNumber;
    }
  }
  to.metrics.push_back(std::move(alias));
  return {};
}

// With families in their order: a name that two rows give.
Status CheckNames(const std::vector<Counter>& metrics) {
  const auto twice = std::ranges::adjacent_find(metrics, {}, &Counter::name);
  return twice == metrics.end()
             ? Status()
             : Fail(ErrorKind::kInvalid,
                    format("alias {}: another metric has this name", twice->name));
}

Status AddRow(const Row& row, std::map<std::string, size_t>& seen, Counters& to) {
  if (row.values.size() != kColumns && row.values.size() != kColumnsWithAlias) {
    return FailAt(row.line, format("{} values instead of 3 (field, type, help), or 6 (and alias, "
                                   "its help, factor)",
                                   row.values.size()));
  }
  TRY_ASSIGN(const AskedType type, ParseType(row));
  const std::string& name = row.values[0];
  const std::optional<Field> field = FindField(name);
  if (!field && IsDcgmOnly(name)) {
    to.warnings.push_back(format("line {}: {} can't be had without DCGM", row.line, name));
    return {};
  }
  if (!field) {
    return FailUnknown(row);
  }
  if (const auto [first, is_new] = seen.emplace(field->name, row.line); !is_new) {
    to.warnings.push_back(
        format("line {}: {} is in line {} already", row.line, name, first->second));
    return {};
  }
  const bool own = field->from >= From::kXidCount;
  if (type.asked == Asked::kMetric && field->shape == Shape::kText) {
    to.warnings.push_back(
        format("line {}: {} is no number, and can only be a label", row.line, name));
    return {};
  }
  if (type.asked == Asked::kLabel && own) {
    to.warnings.push_back(format("line {}: {} can't be a label", row.line, name));
    return {};
  }
  const bool has_alias = row.values.size() == kColumnsWithAlias;
  if (type.asked == Asked::kLabel && has_alias) {
    return FailAt(row.line, format("{} is a label and has no alias", name));
  }
  auto& list = type.asked == Asked::kLabel ? to.labels : to.metrics;
  const Counter counter{.name = name, .type = type.type, .help = row.values[2], .field = *field};
  list.push_back(counter);
  return has_alias ? AddAlias(row, counter, to) : Status();
}

}  // namespace

std::string_view TypeName(Type type) {
  switch (type) {
    case Type::kCounter:
      return "counter";
    case Type::kUntyped:
      return "untyped";
    default:
      return "gauge";
  }
}

Result<Counters> ParseCounters(std::string_view text) {
  if (text.size() > kLongest) {
    return Fail(ErrorKind::kInvalid, "read counters: longer than 1 MiB");
  }
  // Prometheus refuses a whole page for one such byte.
  if (const size_t bad = FirstNotUtf8(text); bad < text.size()) {
    const auto lines = std::ranges::count(text.substr(0, bad), '\n');
    return FailAt(static_cast<size_t>(lines) + 1, "not UTF-8");
  }
  Counters counters;
  std::map<std::string, size_t> seen;
  Rows rows(text);
  while (true) {
    TRY_ASSIGN(const std::optional<Row> row, rows.Next());
    if (!row) {
      break;
    }
    TRY(AddRow(*row, seen, counters));
  }
  // Families are printed by name.
  std::ranges::sort(counters.metrics, {}, &Counter::name);
  std::ranges::sort(counters.labels, {}, &Counter::name);
  TRY(CheckNames(counters.metrics));
  return counters;
}

}  // namespace gantry::metrics_exporter
