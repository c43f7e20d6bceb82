// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Durations, counted as in Prometheus' histograms: how many were at most each bound. Not
// thread-safe; a copy is a snapshot.
class Histogram {
 public:
  // In ascending order.
  Histogram(std::initializer_list<double> bounds);
  void Observe(double value);
  // In Prometheus' text format 0.0.4. `label`: `name="value"`, or empty.
  [[nodiscard]] std::string Text(std::string_view name, std::string_view help,
                                 std::string_view label = {}) const;
  // The same without its heading (base/metric_text.h), for one of several labels.
  [[nodiscard]] std::string Lines(std::string_view name, std::string_view label) const;

 private:
  struct Bucket {
    double bound = 0;
    long long count = 0;  // of values between the bound before and this one
  };
  std::vector<Bucket> buckets_;
  long long count_ = 0;
  double sum_ = 0;
};

}  // namespace gantry
