// SPDX-License-Identifier: Apache-2.0
// How are the values of GPUs written for Prometheus? Families by name, the labels of a series in
// dcgm-exporter's order. A value that Prometheus would refuse costs itself, never the answer.
#include "operands/metrics_exporter/series.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace gantry::metrics_exporter {
namespace {

using Label = std::pair<std::string, std::string>;

std::string Escape(std::string_view value, bool quotes) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || (quotes && c == '"')) {
      text += '\\';
      text += c;
    } else if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  return text;
}

void Append(std::string& to, std::string_view name, std::string_view value) {
  if (!to.empty()) {
    to += ',';
  }
  to += format("{}=\"{}\"", name, Escape(value, true));
}

std::string ModelName(const std::string& name, bool replace_blanks) {
  std::string model = name;
  if (replace_blanks) {
    std::ranges::replace(model, ' ', '-');
  }
  return model;
}

void AppendHost(std::string& to, const Labelling& how) {
  if (how.host == HostLabel::kCapital || how.host == HostLabel::kBoth) {
    Append(to, "Hostname", how.node);
  }
  if (how.host == HostLabel::kSmall || how.host == HostLabel::kBoth) {
    Append(to, "hostname", how.node);
  }
}

// What all series of a GPU or instance begin with.
std::string Identity(const gpu::Gpu& gpu, const Measured& part, const Labelling& how) {
  std::string labels;
  Append(labels, "gpu", std::to_string(gpu.index));
  Append(labels, how.old_names ? "uuid" : "UUID", gpu.uuid);
  Append(labels, "pci_bus_id", NvmlBusId(gpu.pci_bus_id));
  Append(labels, "device", format("nvidia{}", gpu.minor));
  Append(labels, "modelName", ModelName(gpu.name, how.replace_blanks));
  if (part.gpu_instance) {
    Append(labels, "GPU_I_PROFILE", part.profile);
    Append(labels, "GPU_I_ID", std::to_string(*part.gpu_instance));
  }
  AppendHost(labels, how);
  return labels;
}

std::vector<Label> TextLabels(const Counters& counters, const Measured& part) {
  std::vector<Label> labels;
  for (size_t i = 0; i < counters.labels.size(); ++i) {
    const auto& value = part.values.at(counters.metrics.size() + i);
    if (!value) {
      continue;
    }
    const auto* text = std::get_if<std::string>(&*value);
    labels.emplace_back(
        counters.labels[i].name,
        text != nullptr ? *text : NumberText(std::get<double>(*value), NumberForm::kFixed, true));
  }
  return labels;
}

std::vector<Label> PodLabels(const gpu::Holder& holder, const Labelling& how) {
  std::vector<Label> labels = {{how.old_names ? "container_name" : "container", holder.container},
                               {how.old_names ? "pod_namespace" : "namespace", holder.ns},
                               {how.old_names ? "pod_name" : "pod", holder.pod}};
  if (how.every_holder && !holder.replica.empty()) {
    labels.emplace_back("vgpu", holder.replica);
  }
  return labels;
}

// The pods' labels of a part, one set for each series that it gets.
std::vector<std::vector<Label>> PodSets(const gpu::Holders& holders, const gpu::GpuPart& part,
                                        const Labelling& how) {
  const auto found = holders.find(part);
  if (found == holders.end() || found->second.empty()) {
    return {{}};
  }
  if (!how.every_holder) {
    return {PodLabels(found->second.back(), how)};
  }
  std::vector<std::vector<Label>> sets;
  if (found->second.size() > 1 || !found->second.front().replica.empty()) {
    sets.emplace_back();  // the GPU's own series
  }
  for (const gpu::Holder& holder : found->second) {
    sets.push_back(PodLabels(holder, how));
  }
  return sets;
}

void AppendSorted(std::string& to, std::vector<Label> labels, const std::vector<Label>& more) {
  labels.insert(labels.end(), more.begin(), more.end());
  std::ranges::sort(labels);
  for (const auto& [name, value] : labels) {
    Append(to, name, value);
  }
}

bool IsEvent(From from) { return from >= From::kXid; }

bool OutlivesGpu(From from) {
  return from == From::kXid || from == From::kXidCount || from == From::kXidTotal ||
         from == From::kHealth;
}

class Writer {
 public:
  Writer(const Counters& counters, const EventLog& events, const gpu::Holders& holders,
         const Labelling& how, SteadyTime now)
      : counters_(counters), events_(events), holders_(holders), how_(how), now_(now) {}

  void AddGpus(const std::vector<MeasuredGpu>& gpus) {
    for (const MeasuredGpu& one : gpus) {
      for (const Measured& part : one.parts) {
        series_.push_back({.gpu = &one.gpu,
                           .lost = one.lost,
                           .part = &part,
                           .identity = Identity(one.gpu, part, how_),
                           .labels = TextLabels(counters_, part),
                           .pods = PodSets(holders_, {one.gpu.uuid, part.gpu_instance}, how_)});
      }
    }
  }

  void Write(size_t metric) {
    const Counter& counter = counters_.metrics[metric];
    std::string samples;
    for (const Series& series : series_) {
      for (const Point& point : PointsOf(counter, metric, series)) {
        WritePoint(counter, series, point, samples);
      }
    }
    if (samples.empty()) {
      return;
    }
    if (!counter.help.empty()) {
      printed_.text += format("# HELP {} {}\n", counter.name, Escape(counter.help, false));
    }
    printed_.text += format("# TYPE {} {}\n", counter.name, TypeName(counter.type));
    printed_.text += samples;
  }

  Printed Take() { return std::move(printed_); }

 private:
  struct Series {
    const gpu::Gpu* gpu;
    bool lost;
    const Measured* part;
    std::string identity;
    std::vector<Label> labels;
    std::vector<std::vector<Label>> pods;
  };

  [[nodiscard]] bool Applies(const Field& field, const Series& series) const {
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

  void WritePoint(const Counter& counter, const Series& series, const Point& point,
                  std::string& to) {
    if (!std::isfinite(point.value) || (counter.type == Type::kCounter && point.value < 0)) {
      printed_.dropped++;
      return;
    }
    const bool whole = counter.field.shape != Shape::kNumber && counter.field.shape != Shape::kBer;
    const std::string value = NumberText(point.value, how_.numbers, whole);
    for (const auto& pod : series.pods) {
      std::string labels = series.identity;
      AppendSorted(labels, series.labels, point.labels);
      AppendSorted(labels, pod, point.attributes);
      to += format("{}{{{}}} {}\n", counter.name, labels, value);
    }
  }

  const Counters& counters_;
  const EventLog& events_;
  const gpu::Holders& holders_;
  const Labelling& how_;
  const SteadyTime now_;
  std::vector<Series> series_;
  Printed printed_;
};

}  // namespace

Printed MetricsText(const Counters& counters, const std::vector<MeasuredGpu>& gpus,
                    const EventLog& events, const gpu::Holders& holders, const Labelling& how,
                    SteadyTime now) {
  Writer writer(counters, events, holders, how, now);
  writer.AddGpus(gpus);
  for (size_t metric = 0; metric < counters.metrics.size(); ++metric) {
    writer.Write(metric);
  }
  return writer.Take();
}

std::string NvmlBusId(std::string_view sysfs) {
  const size_t colon = sysfs.find(':');
  const std::string text = Upper(sysfs);
  return colon < 8 ? std::string(8 - colon, '0') + text : text;
}

}  // namespace gantry::metrics_exporter
