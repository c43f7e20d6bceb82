// SPDX-License-Identifier: Apache-2.0
// What is a tool of this node told about its GPUs?
#include "operands/metrics_exporter/tool_pages.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "operands/metrics_exporter/device_selector.h"
#include "operands/metrics_exporter/label_sets.h"

namespace gantry::metrics_exporter {
namespace {

Json JsonOf(const std::optional<nvml::Value>& value) {
  if (!value) {
    return nullptr;
  }
  const auto* text = std::get_if<std::string>(&*value);
  return text != nullptr ? Json(*text) : Json(std::get<double>(*value));
}

std::optional<nvml::Value> ValueOf(const Counters& counters, size_t metric, const MeasuredGpu& gpu,
                                   const Measured& part, const EventLog& events, SteadyTime now) {
  const Field& field = counters.metrics[metric].field;
  if (field.from != From::kXid) {
    return part.values.at(metric);
  }
  const auto points = events.Points(field.from, gpu.gpu.uuid, part.gpu_instance, now);
  return points.empty() ? std::nullopt : std::optional<nvml::Value>(points.front().value);
}

}  // namespace

Json DevicesJson(const std::vector<gpu::Gpu>& gpus) {
  Json list = Json::array();
  for (const gpu::Gpu& gpu : gpus) {
    Json instances = Json::array();
    std::set<unsigned> seen;
    for (const nvml::MigDevice& mig : gpu.mig_devices) {
      if (seen.insert(mig.gpu_instance).second) {
        instances.push_back({{"id", InstanceId(gpu, mig.gpu_instance)}, {"profile", mig.profile}});
      }
    }
    list.push_back({{"index", gpu.index},
                    {"name", gpu.name},
                    {"uuid", gpu.uuid},
                    {"bus_id", NvmlBusId(gpu.pci_bus_id)},
                    {"instances", std::move(instances)}});
  }
  return Json::object({{"gpus", std::move(list)}});
}

Json ValuesJson(const Counters& counters, const std::vector<MeasuredGpu>& gpus,
                const EventLog& events, SteadyTime now) {
  Json fields = Json::array();
  for (const Counter& counter : counters.metrics) {
    const Shape shape = counter.field.shape;
    fields.push_back(
        {{"name", counter.name}, {"whole", shape != Shape::kNumber && shape != Shape::kBer}});
  }
  Json rows = Json::array();
  for (const MeasuredGpu& one : gpus) {
    for (const Measured& part : one.parts) {
      Json values = Json::array();
      for (size_t metric = 0; metric < counters.metrics.size(); ++metric) {
        values.push_back(JsonOf(ValueOf(counters, metric, one, part, events, now)));
      }
      rows.push_back(
          {{"entity", part.gpu_instance ? "GPU-I" : "GPU"},
           {"id", part.gpu_instance ? InstanceId(one.gpu, *part.gpu_instance) : one.gpu.index},
           {"gpu", one.gpu.index},
           {"values", std::move(values)}});
    }
  }
  return {{"fields", std::move(fields)}, {"rows", std::move(rows)}};
}

Json HealthJson(const std::vector<MeasuredGpu>& gpus, const std::vector<gpu::FailedGpu>& failed,
                const EventLog& events, SteadyTime now) {
  Json list = Json::array();
  const auto add = [&](unsigned index, const std::string& uuid, bool lost) {
    Json watches = Json::array();
    for (const Point& point : events.Points(From::kHealth, uuid, std::nullopt, now)) {
      Json watch = Json::object({{"verdict", point.value}});
      for (const auto& [name, value] : point.labels) {
        watch[name == "health_watch" ? "watch" : "code"] = value;
      }
      watches.push_back(std::move(watch));
    }
    list.push_back({{"index", index}, {"lost", lost}, {"watches", std::move(watches)}});
  };
  for (const MeasuredGpu& one : gpus) {
    if (std::ranges::find(failed, one.gpu.index, &gpu::FailedGpu::index) == failed.end()) {
      add(one.gpu.index, one.gpu.uuid, one.lost);
    }
  }
  for (const gpu::FailedGpu& one : failed) {
    add(one.index, one.uuid, true);
  }
  return Json::object({{"gpus", std::move(list)}});
}

}  // namespace gantry::metrics_exporter
