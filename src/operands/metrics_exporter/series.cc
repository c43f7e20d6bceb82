// SPDX-License-Identifier: Apache-2.0
// How are the values of GPUs written for Prometheus? Families by name, the series of each in the
// order of GPUs. A value that Prometheus would refuse costs itself, never the answer.
#include "operands/metrics_exporter/series.h"

#include <cmath>
#include <utility>

#include "base/text.h"
#include "operands/metrics_exporter/label_sets.h"

namespace gantry::metrics_exporter {
namespace {

bool IsEvent(From from) { return from >= From::kXid; }

bool OutlivesGpu(From from) {
  return from == From::kXid || from == From::kXidCount || from == From::kXidTotal ||
         from == From::kHealth;
}

// A set's part of a value; nullopt: it has none.
std::optional<double> PartOf(const LabelSet& set, double value,
                             const std::optional<Portions>& portions) {
  switch (set.part) {
    case LabelSet::Part::kAll:
      return value;
    case LabelSet::Part::kHolder:
      return portions ? portions->holders.at(set.holder) : std::optional(value);
    case LabelSet::Part::kOther:
      return portions ? std::optional(portions->other) : std::nullopt;
    default:
      return portions ? portions->rest : std::nullopt;
  }
}

class Writer {
 public:
  Writer(const Counters& counters, const EventLog& events, const Users& users, const Labelling& how,
         SteadyTime now)
      : counters_(counters), events_(events), users_(users), how_(how), now_(now) {}

  void AddGpus(const std::vector<MeasuredGpu>& gpus) {
    for (const MeasuredGpu& one : gpus) {
      for (const Measured& part : one.parts) {
        series_.push_back({.gpu = &one.gpu,
                           .lost = one.lost,
                           .part = &part,
                           .identity = Identity(one.gpu, part, how_),
                           .labels = TextLabels(counters_, part),
                           .sets = LabelSets(users_, one.gpu, part, how_),
                           .heads = {},
                           .texts = {}});
        Series& series = series_.back();
        for (const LabelSet& set : series.sets) {
          series.heads.push_back(HeadOf(series, set, {}));
          series.texts.push_back(series.heads.back());
          AppendSorted(series.texts.back(), set.attributes, {});
        }
      }
    }
  }

  void Write(size_t metric) {
    const Counter& counter = counters_.metrics[metric];
    const size_t start = printed_.text.size();
    if (!counter.help.empty()) {
      printed_.text += format("# HELP {} {}\n", counter.name, Escape(counter.help, false));
    }
    printed_.text += format("# TYPE {} {}\n", counter.name, TypeName(counter.type));
    const size_t empty = printed_.text.size();
    for (const Series& series : series_) {
      for (const Point& point : PointsOf(counter, metric, series)) {
        WritePoint(counter, series, point);
      }
    }
    if (printed_.text.size() == empty) {
      printed_.text.resize(start);
    }
  }

  Printed Take() { return std::move(printed_); }

 private:
  struct Series {
    const gpu::Gpu* gpu;
    bool lost;
    const Measured* part;
    std::string identity;
    std::vector<Label> labels;
    std::vector<LabelSet> sets;
    // Of each set: what comes before the attributes, for points without labels of their own, and
    // all of it for points without attributes too.
    std::vector<std::string> heads;
    std::vector<std::string> texts;
  };

  static std::string HeadOf(const Series& series, const LabelSet& set, const Point& point) {
    std::string text = series.identity;
    std::vector<Label> labels = series.labels;
    labels.insert(labels.end(), set.labels.begin(), set.labels.end());
    AppendSorted(text, std::move(labels), point.labels);
    return text;
  }

  static std::string LabelsOf(const Series& series, size_t set, const Point& point) {
    std::string text =
        point.labels.empty() ? series.heads[set] : HeadOf(series, series.sets[set], point);
    AppendSorted(text, series.sets[set].attributes, point.attributes);
    return text;
  }

  [[nodiscard]] bool Applies(const Field& field, const Series& series) const {
    if (series.part->link || field.level == Level::kLink) {
      return series.part->link && field.level == Level::kLink;
    }
    const bool instance = series.part->gpu_instance.has_value();
    const bool divided = series.gpu->mig_enabled;
    return field.level == Level::kInstance ? instance || !divided : !instance;
  }

  std::vector<Point> PointsOf(const Counter& counter, size_t metric, const Series& series) const {
    if (!Applies(counter.field, series)) {
      return {};
    }
    // An XID may be the reason why a GPU is lost, and an alert wants to see it.
    if (series.lost && !(events_.HasXid(series.gpu->uuid) && OutlivesGpu(counter.field.from))) {
      return {};
    }
    if (IsEvent(counter.field.from)) {
      return events_.Points(counter.field.from, series.gpu->uuid, series.part->gpu_instance, now_);
    }
    const auto& value = series.part->values.at(metric);
    const double* number = value ? std::get_if<double>(&*value) : nullptr;
    return number == nullptr ? std::vector<Point>() : std::vector<Point>{{.value = *number}};
  }

  // The GPU's value divided among those that share it.
  [[nodiscard]] std::optional<Portions> Divided(const Counter& counter, const Series& series,
                                                double value) const {
    const auto holders = users_.holders.find({series.gpu->uuid, series.part->gpu_instance});
    return series.part->uses && series.sets.size() > 1 && holders != users_.holders.end()
               ? Divide(counter.field, value, *series.part->uses, holders->second)
               : std::nullopt;
  }

  void WritePoint(const Counter& counter, const Series& series, const Point& point) {
    if (!std::isfinite(point.value) || (counter.type == Type::kCounter && point.value < 0)) {
      printed_.dropped++;
      return;
    }
    const std::optional<Portions> portions = Divided(counter, series, point.value);
    const bool plain = point.labels.empty() && point.attributes.empty();
    for (size_t i = 0; i < series.sets.size(); ++i) {
      const auto part = PartOf(series.sets[i], point.value, portions);
      if (!part) {
        continue;
      }
      printed_.text += counter.name;
      printed_.text += '{';
      printed_.text += plain ? series.texts[i] : LabelsOf(series, i, point);
      printed_.text += "} ";
      printed_.text += NumberText(*part, how_.numbers, IsWhole(counter.field, *part));
      printed_.text += '\n';
    }
  }

  static bool IsWhole(const Field& field, double value) {
    return field.shape != Shape::kNumber && field.shape != Shape::kBer &&
           value == std::trunc(value);
  }

  const Counters& counters_;
  const EventLog& events_;
  const Users& users_;
  const Labelling& how_;
  const SteadyTime now_;
  std::vector<Series> series_;
  Printed printed_;
};

}  // namespace

Printed MetricsText(const Counters& counters, const std::vector<MeasuredGpu>& gpus,
                    const EventLog& events, const Users& users, const Labelling& how,
                    SteadyTime now) {
  Writer writer(counters, events, users, how, now);
  writer.AddGpus(gpus);
  for (size_t metric = 0; metric < counters.metrics.size(); ++metric) {
    writer.Write(metric);
  }
  return writer.Take();
}

}  // namespace gantry::metrics_exporter
