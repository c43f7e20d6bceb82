// SPDX-License-Identifier: Apache-2.0
// Which series does a GPU get, and what do they say of it? One, or one for each pod that shares it
// and each job that runs on it, with dcgm-exporter's labels in its order.
#include "operands/metrics_exporter/label_sets.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::metrics_exporter {
namespace {

using Part = LabelSet::Part;

constexpr std::string_view kShare = "share";
constexpr std::string_view kJob = "hpc_job";

std::string ModelName(const std::string& name, bool replace_blanks) {
  std::string model = name;
  if (replace_blanks) {
    std::ranges::replace(model, ' ', '-');
  }
  return model;
}

void AppendHost(std::string& to, const Labelling& how) {
  if (how.host == HostLabel::kCapital || how.host == HostLabel::kBoth) {
    AppendLabel(to, "Hostname", how.node);
  }
  if (how.host == HostLabel::kSmall || how.host == HostLabel::kBoth) {
    AppendLabel(to, "hostname", how.node);
  }
}

std::vector<Label> PodAttributes(const gpu::Holder& holder, const Labelling& how) {
  std::vector<Label> labels = {{how.old_names ? "container_name" : "container", holder.container},
                               {how.old_names ? "pod_namespace" : "namespace", holder.ns},
                               {how.old_names ? "pod_name" : "pod", holder.pod}};
  if (how.every_holder && !holder.replica.empty()) {
    labels.emplace_back("vgpu", holder.replica);
  }
  labels.insert(labels.end(), holder.attributes.begin(), holder.attributes.end());
  return labels;
}

std::vector<LabelSet> PodSets(const std::vector<gpu::Holder>& holders, bool divided,
                              const Labelling& how) {
  const auto set_of = [&](const gpu::Holder& holder) {
    return LabelSet{.labels = holder.labels, .attributes = PodAttributes(holder, how)};
  };
  if (holders.empty()) {
    return {LabelSet()};
  }
  if (!how.every_holder) {
    return {set_of(holders.back())};
  }
  const bool shared = holders.size() > 1 || !holders.front().replica.empty();
  if (!shared) {
    return {set_of(holders.front())};
  }
  std::vector<LabelSet> sets = {LabelSet()};  // the GPU's own series
  for (size_t i = 0; i < holders.size(); ++i) {
    LabelSet& set = sets.emplace_back(set_of(holders[i]));
    set.holder = i;
    set.part = Part::kHolder;
  }
  if (divided) {
    for (const auto& [part, name] :
         {std::pair(Part::kOther, "other"), std::pair(Part::kRest, "rest")}) {
      sets.push_back({.labels = {}, .attributes = {{std::string(kShare), name}}, .part = part});
    }
  }
  return sets;
}

// Each as often as there are jobs.
std::vector<LabelSet> ForJobs(std::vector<LabelSet> sets, const std::vector<std::string>& jobs) {
  std::vector<LabelSet> all;
  for (const std::string& job : jobs) {
    for (const LabelSet& set : sets) {
      all.push_back(set);
      all.back().attributes.emplace_back(kJob, job);
    }
  }
  return all.empty() ? std::move(sets) : all;
}

}  // namespace

std::string Escape(std::string_view value, bool quotes) {
  std::string text;
  while (!value.empty()) {
    // Few values have anything to escape.
    const size_t plain = std::min(value.find_first_of(quotes ? "\\\n\"" : "\\\n"), value.size());
    text += value.substr(0, plain);
    value.remove_prefix(plain);
    if (!value.empty()) {
      text += '\\';
      text += value.front() == '\n' ? 'n' : value.front();
      value.remove_prefix(1);
    }
  }
  return text;
}

void AppendLabel(std::string& to, std::string_view name, std::string_view value) {
  if (!to.empty()) {
    to += ',';
  }
  to += name;
  to += "=\"";
  to += Escape(value, true);
  to += '"';
}

void AppendSorted(std::string& to, std::vector<Label> labels, const std::vector<Label>& more) {
  labels.insert(labels.end(), more.begin(), more.end());
  std::ranges::sort(labels);
  for (const auto& [name, value] : labels) {
    AppendLabel(to, name, value);
  }
}

namespace {

// NVLinks count from 1 in dcgm-exporter.
std::string LinkIdentity(const gpu::Gpu& gpu, unsigned link, const Labelling& how) {
  std::string labels;
  AppendLabel(labels, "nvlink", std::to_string(link + 1));
  AppendLabel(labels, "gpu", std::to_string(gpu.index));
  AppendLabel(labels, "gpu_uuid", gpu.uuid);
  AppendLabel(labels, "pci_bus_id", NvmlBusId(gpu.pci_bus_id));
  AppendLabel(labels, "device", format("nvidia{}", gpu.minor));
  AppendLabel(labels, "model_name", ModelName(gpu.name, how.replace_blanks));
  AppendHost(labels, how);
  return labels;
}

}  // namespace

std::string Identity(const gpu::Gpu& gpu, const Measured& part, const Labelling& how) {
  if (part.link) {
    return LinkIdentity(gpu, *part.link, how);
  }
  std::string labels;
  AppendLabel(labels, "gpu", std::to_string(gpu.index));
  AppendLabel(labels, how.old_names ? "uuid" : "UUID", gpu.uuid);
  AppendLabel(labels, "pci_bus_id", NvmlBusId(gpu.pci_bus_id));
  AppendLabel(labels, "device", format("nvidia{}", gpu.minor));
  AppendLabel(labels, "modelName", ModelName(gpu.name, how.replace_blanks));
  if (part.gpu_instance) {
    AppendLabel(labels, "GPU_I_PROFILE", part.profile);
    AppendLabel(labels, "GPU_I_ID", std::to_string(*part.gpu_instance));
  }
  if (part.compute_instance) {
    AppendLabel(labels, "GPU_CI_ID", std::to_string(*part.compute_instance));
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

std::vector<LabelSet> LabelSets(const Users& users, const gpu::Gpu& gpu, const Measured& part,
                                const Labelling& how) {
  const auto holders = users.holders.find({gpu.uuid, part.gpu_instance});
  std::vector<LabelSet> sets =
      PodSets(holders == users.holders.end() ? std::vector<gpu::Holder>() : holders->second,
              part.uses.has_value(), how);
  const auto jobs = users.jobs.find({gpu.index, part.gpu_instance});
  return jobs == users.jobs.end() ? sets : ForJobs(std::move(sets), jobs->second);
}

std::string NvmlBusId(std::string_view sysfs) {
  const size_t colon = sysfs.find(':');
  const std::string text = Upper(sysfs);
  return colon < 8 ? std::string(8 - colon, '0') + text : text;
}

}  // namespace gantry::metrics_exporter
