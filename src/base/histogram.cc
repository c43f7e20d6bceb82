// SPDX-License-Identifier: Apache-2.0
// How many values lie below which bounds? Prometheus' buckets hold all values up to their bound, so
// the counts are added up when they are printed.
#include "base/histogram.h"

#include <algorithm>

#include "base/metric_text.h"
#include "base/text.h"

namespace gantry {

Histogram::Histogram(std::initializer_list<double> bounds) {
  for (const double bound : bounds) {
    buckets_.push_back({.bound = bound});
  }
}

void Histogram::Observe(double value) {
  const auto bucket = std::ranges::lower_bound(buckets_, value, {}, &Bucket::bound);
  if (bucket != buckets_.end()) {
    ++bucket->count;
  }
  ++count_;
  sum_ += value;
}

std::string Histogram::Text(std::string_view name, std::string_view help,
                            std::string_view label) const {
  return MetricHeading(name, "histogram", help) + Lines(name, label);
}

std::string Histogram::Lines(std::string_view name, std::string_view label) const {
  std::string text;
  const std::string_view comma = label.empty() ? "" : ",";
  long long below = 0;
  for (const Bucket& bucket : buckets_) {
    below += bucket.count;
    text += format("{}_bucket{{{}{}le=\"{}\"}} {}\n", name, label, comma, bucket.bound, below);
  }
  text += format("{}_bucket{{{}{}le=\"+Inf\"}} {}\n", name, label, comma, count_);
  const std::string all = label.empty() ? "" : format("{{{}}}", label);
  return text + format("{0}_sum{1} {2}\n{0}_count{1} {3}\n", name, all, sum_, count_);
}

}  // namespace gantry
