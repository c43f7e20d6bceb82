// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "operands/metrics_exporter/series.h"

// The labels of series.
namespace gantry::metrics_exporter {

using Label = std::pair<std::string, std::string>;

// For Prometheus: backslashes, line ends and, in the value of a label, quotes.
std::string Escape(std::string_view value, bool quotes);
// `name="value"` behind what is there.
void AppendLabel(std::string& to, std::string_view name, std::string_view value);
// The same of all, by name.
void AppendSorted(std::string& to, std::vector<Label> labels, const std::vector<Label>& more);

// What all series of a GPU, instance or NVLink begin with.
std::string Identity(const gpu::Gpu& gpu, const Measured& part, const Labelling& how);
// Those of the file of counters.
std::vector<Label> TextLabels(const Counters& counters, const Measured& part);

// One series that a GPU or instance gets of each metric.
struct LabelSet {
  // What of the GPU's value it has, where that is divided among those that share the GPU.
  enum class Part { kAll, kHolder, kOther, kRest };

  std::vector<Label> labels = {};      // before the attributes
  std::vector<Label> attributes = {};  // who has it
  Part part = Part::kAll;
  size_t holder = 0;  // its place among the holders
};

// Those of a part, for each of its holders, and if it is shared for itself. With `uses` there are
// two more, whose label `share` is "other" and "rest".
std::vector<LabelSet> LabelSets(const Users& users, const gpu::Gpu& gpu, const Measured& part,
                                const Labelling& how);

// "0000:3b:00.0" -> "00000000:3B:00.0", as NVML and DCGM write it.
std::string NvmlBusId(std::string_view sysfs);

}  // namespace gantry::metrics_exporter
