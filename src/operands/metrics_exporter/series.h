// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/gpu.h"
#include "gpu/pod_gpus.h"
#include "nvml/sample.h"
#include "operands/metrics_exporter/counters.h"
#include "operands/metrics_exporter/events.h"
#include "operands/metrics_exporter/job_files.h"
#include "operands/metrics_exporter/number_text.h"
#include "operands/metrics_exporter/shares.h"

namespace gantry::metrics_exporter {

// The values of a GPU, or of one of its GPU instances or NVLinks.
struct Measured {
  std::optional<unsigned> gpu_instance = {};
  std::string profile = {};  // of the instance: "1g.10gb"
  // The instance's only compute instance; nullopt: it has several.
  std::optional<unsigned> compute_instance = {};
  std::optional<unsigned> link = {};  // one NVLink of the GPU
  // By the counters' metrics, and after them by their labels. Empty: nothing is to be printed.
  std::vector<std::optional<nvml::Value>> values;
  std::optional<Uses> uses = {};  // by pod; nullopt: not asked for, or not known
};

struct MeasuredGpu {
  gpu::Gpu gpu;
  std::vector<Measured> parts;
  bool lost = false;  // it gives no answer: the parts have no values
};

enum class HostLabel { kNone, kCapital, kSmall, kBoth };

// How series are labelled.
struct Labelling {
  HostLabel host = HostLabel::kCapital;
  std::string node;             // the host label's value
  bool old_names = false;       // those of dcgm-exporter 1.x: uuid, pod_name, ...
  bool replace_blanks = false;  // in modelName
  bool every_holder = false;    // of a shared GPU each pod has series of its own
  NumberForm numbers = NumberForm::kShortest;
};

struct Printed {
  std::string text;
  size_t dropped = 0;  // samples that Prometheus would refuse
};

// Who uses the GPUs.
struct Users {
  gpu::Holders holders;
  Jobs jobs;
};

// What /metrics answers (Prometheus' text format 0.0.4): families by name, of each those with
// values, GPUs in their order. Labels and their order are dcgm-exporter 4.8's.
Printed MetricsText(const Counters& counters, const std::vector<MeasuredGpu>& gpus,
                    const EventLog& events, const Users& users, const Labelling& how,
                    SteadyTime now);

}  // namespace gantry::metrics_exporter
