// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "operands/metrics_exporter/fields.h"

namespace gantry::metrics_exporter {

enum class Type { kGauge, kCounter, kUntyped };
std::string_view TypeName(Type type);

// One metric to be served, or one value that becomes a label of all others.
struct Counter {
  std::string name;  // as the file has it: the metric's name
  Type type = Type::kGauge;
  std::string help;
  Field field;
};

// What a file of counters asks for.
struct Counters {
  std::vector<Counter> metrics;
  std::vector<Counter> labels;
  std::vector<std::string> warnings;  // a sentence for each row that is left out
};

// Reads a file of counters as dcgm-exporter 4.8 does: rows of three values between commas (RFC
// 4180), the field's name, a type (gauge, counter, untyped, label) and the help text; lines that
// begin with "#" are comments. A row of six values makes a second metric of its field: then come
// the metric's name, its help text, and what the value is multiplied with (empty: 1). kInvalid
// names line and value: a row of another form, a type that does not exist, a field that does not
// exist. Of rows for one field the first counts.
Result<Counters> ParseCounters(std::string_view text);

// What is served where nobody names a file.
std::string_view DefaultCounters();

}  // namespace gantry::metrics_exporter
