// SPDX-License-Identifier: Apache-2.0
// Does this node have the layout that it is to have, and may it be changed now? Who is asked: the
// driver, for the GPUs and their processes, and the kubelet, for the pods that hold them.
#include "operands/mig_manager/node_change.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "gpu/gpu.h"
#include "gpu/open_nvml.h"
#include "gpu/pod_gpus.h"
#include "gpu/pod_list.h"
#include "nvml/mig_control.h"
#include "operands/mig_manager/change.h"
#include "operands/mig_manager/config.h"
#include "operands/mig_manager/config_text.h"
#include "operands/mig_manager/journal.h"
#include "operands/mig_manager/reset.h"
#include "operands/mig_manager/users.h"

namespace gantry::mig_manager {
namespace {

constexpr std::chrono::seconds kKubeletAnswers(5);

Result<Config> ReadConfig(const std::string& path) {
  TRY_ASSIGN(const std::string text, ReadFile(path));
  auto config = ParseConfig(text);
  return config.has_value() ? config : std::unexpected(config.error().In(path));
}

// A file that somebody wrote counts alone. Else the layouts that the GPUs can have, and those of
// the default file besides.
Result<Config> ConfigFor(const NodeQuestion& question, const std::vector<nvml::MigGpu>& gpus) {
  if (!question.config_file.empty()) {
    return ReadConfig(question.config_file);
  }
  auto config = GenerateConfig(gpus);
  if (question.default_config_file.empty() ||
      (config.has_value() && config->contains(question.layout))) {
    return config;
  }
  TRY_ASSIGN(Config merged, ReadConfig(question.default_config_file));
  if (config.has_value()) {
    for (auto& [name, entries] : *config) {
      merged[name] = std::move(entries);
    }
  }
  return merged;
}

std::string ProcessName(unsigned pid) {
  const auto name = ReadFile(format("/proc/{}/comm", pid));
  return name.has_value() ? format("process {} ({})", pid, Trim(*name)) : format("process {}", pid);
}

Status AddPods(const NodeQuestion& question, const nvml::Library& library,
               std::vector<User>& users) {
  const auto pods = gpu::ListPods(question.pod_resources, kKubeletAnswers);
  if (!pods.has_value()) {
    return std::unexpected(pods.error().In("ask the kubelet who holds the GPUs"));
  }
  TRY_ASSIGN(const nvml::Devices devices, library.Enumerate());
  std::vector<gpu::Gpu> gpus;
  gpus.reserve(devices.found.size());
  for (const nvml::Device& device : devices.found) {
    gpus.push_back(gpu::FromNvml(device));
  }
  for (const auto& [part, holders] : gpu::HoldersOf(*pods, gpus, {})) {
    for (const gpu::Holder& holder : holders) {
      users.push_back({part, format("pod {}/{}", holder.ns, holder.pod)});
    }
  }
  return {};
}

Status AddProcesses(const nvml::MigControl& control, const std::vector<nvml::MigGpu>& gpus,
                    std::vector<User>& users) {
  for (const nvml::MigGpu& gpu : gpus) {
    TRY_ASSIGN(const auto processes, control.Processes(gpu.index));
    for (const nvml::GpuProcess& process : processes) {
      users.push_back(
          {{.uuid = gpu.uuid, .gpu_instance = process.gpu_instance}, ProcessName(process.pid)});
    }
  }
  return {};
}

Change::Options ResetBelow(const std::string& driver_root) {
  return {.reset = [driver_root](const nvml::MigGpu& gpu) { return ResetGpu(driver_root, gpu); }};
}

Result<std::unique_ptr<nvml::Library>> OpenLibrary(const NodeQuestion& question) {
  return gpu::OpenNvml(
      {.driver_root = question.driver_root, .or_by_loader = true, .dev_root = question.dev_root});
}

// What is to be done. The kubelet is asked only if something differs.
Result<NodeAnswer> Judge(const NodeQuestion& question, const nvml::Library& library,
                         const nvml::MigControl& control, std::vector<Target>& targets) {
  TRY_ASSIGN(const auto gpus, control.Read());
  TRY_ASSIGN(const Config config, ConfigFor(question, gpus));
  TRY_ASSIGN(const auto layouts, LayoutsFor(config, question.layout, gpus));
  targets = TargetsOf(gpus, layouts);
  TRY_ASSIGN(auto plans, PlanAll(targets, gpus));
  if (AllAsWanted(plans)) {
    return NodeAnswer{};
  }
  std::vector<User> users;
  TRY(AddPods(question, library, users));
  TRY(AddProcesses(control, gpus, users));
  for (Target& target : targets) {
    target.held = HeldInstances(users, target.uuid);
  }
  TRY_ASSIGN(plans, PlanAll(targets, gpus));
  NodeAnswer answer{.state = NodeAnswer::State::kDiffers,
                    .blockers = Blockers(users, targets, plans)};
  if (!answer.blockers.empty()) {
    answer.state = NodeAnswer::State::kHeld;
  }
  return answer;
}

constexpr char kStateKey[] = "state";
constexpr char kBlockersKey[] = "blockers";

}  // namespace

std::string NodeAnswerText(const NodeAnswer& answer) {
  return Json{{kStateKey, static_cast<int>(answer.state)}, {kBlockersKey, answer.blockers}}.dump();
}

Result<NodeAnswer> ParseNodeAnswer(const std::string& text) {
  TRY_ASSIGN(const Json json, ParseJson(text));
  return NodeAnswer{.state = static_cast<NodeAnswer::State>(IntAt(json, kStateKey, 0)),
                    .blockers = TextsAt(json, kBlockersKey)};
}

Result<NodeAnswer> LookAtNode(const NodeQuestion& question, bool act) {
  TRY_ASSIGN(const auto library, OpenLibrary(question));
  const nvml::MigControl control(*library);
  const Journal journal(question.journal);
  Change change(control, journal, ResetBelow(question.driver_root));
  std::vector<Target> targets;
  auto answer = Judge(question, *library, control, targets);
  if (!act) {
    return answer;
  }
  if (!answer.has_value()) {
    const Status ended = change.End(std::unexpected(answer.error()));
    return ended.has_value() ? answer : std::unexpected(ended.error());
  }
  if (answer->state == NodeAnswer::State::kHeld) {
    return answer;
  }
  TRY(change.End(change.To(targets)));
  return NodeAnswer{};
}

Status TakeBackOnNode(const NodeQuestion& question) {
  const Journal journal(question.journal);
  TRY_ASSIGN(const auto before, journal.Before());
  if (!before.has_value()) {
    return {};
  }
  TRY_ASSIGN(const auto library, OpenLibrary(question));
  const nvml::MigControl control(*library);
  Change change(control, journal, ResetBelow(question.driver_root));
  const Status ended =
      change.End(Fail(ErrorKind::kInvalid, "no layout is wanted for a change that was cut off"));
  TRY_ASSIGN(const auto left, journal.Before());
  return left.has_value() ? ended : Status();
}

}  // namespace gantry::mig_manager
