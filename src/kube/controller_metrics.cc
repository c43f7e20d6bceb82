// SPDX-License-Identifier: Apache-2.0
// Which metrics do controllers export? Those of controller-runtime, so that its users' alerts
// (repeated errors, a growing queue) work here too.
#include "kube/controller_metrics.h"

#include <functional>

#include "base/metric_text.h"
#include "base/text.h"

namespace gantry::kube {

std::string FormatMetrics(std::span<const ControllerMetrics> controllers) {
  std::string text;
  // The lines of one name are adjacent, for all controllers.
  const auto add = [&](std::string_view name, std::string_view type, std::string_view help,
                       const std::function<long long(const ControllerMetrics&)>& value,
                       std::string_view label = "controller") {
    text += MetricHeading(name, type, help);
    for (const ControllerMetrics& controller : controllers) {
      text += format("{}{{{}=\"{}\"}} {}\n", name, label, controller.name, value(controller));
    }
  };
  constexpr std::string_view kTotal = "controller_runtime_reconcile_total";
  text += MetricHeading(kTotal, "counter", "Reconciles, by result.");
  for (const ControllerMetrics& controller : controllers) {
    const std::pair<std::string_view, long long> results[] = {
        {"error", controller.errors},
        {"requeue_after", controller.retries},
        {"success", controller.successes},
    };
    for (const auto& [result, count] : results) {
      text += format("{}{{controller=\"{}\",result=\"{}\"}} {}\n", kTotal, controller.name, result,
                     count);
    }
  }
  add("controller_runtime_reconcile_errors_total", "counter", "Reconciles that failed.",
      [](const ControllerMetrics& controller) { return controller.errors; });
  add("controller_runtime_max_concurrent_reconciles", "gauge", "Workers.",
      [](const ControllerMetrics& controller) { return controller.workers; });
  add("controller_runtime_active_workers", "gauge", "Workers that reconcile now.",
      [](const ControllerMetrics& controller) { return controller.active; });
  add(
      "workqueue_depth", "gauge", "Keys that wait, or are due later.",
      [](const ControllerMetrics& controller) {
        return static_cast<long long>(controller.waiting);
      },
      "name");
  constexpr std::string_view kTime = "controller_runtime_reconcile_time_seconds";
  text += MetricHeading(kTime, "histogram", "How long reconciles took.");
  for (const ControllerMetrics& controller : controllers) {
    text += controller.seconds.Lines(kTime, format("controller=\"{}\"", controller.name));
  }
  return text;
}

}  // namespace gantry::kube
