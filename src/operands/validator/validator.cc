// SPDX-License-Identifier: Apache-2.0
// Is this node's GPU stack complete, and what is missing? Selects the stages: all of them until
// stopped, or once the one component that NVIDIA's manifests name.
#include "operands/validator/validator.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "agent/flags.h"
#include "agent/own_node.h"
#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/files.h"
#include "operands/validator/cluster.h"
#include "operands/validator/loop.h"
#include "operands/validator/node_status_exporter/exporter.h"
#include "policy/names.h"

namespace gantry::validator {
namespace {

Status EmptyDirectory(const host::StatusFiles& files) {
  TRY_ASSIGN(const std::vector<std::string> entries, ListDirectory(files.directory()));
  for (const std::string& name : entries) {
    TRY(host::RemoveFile(JoinPath(files.directory(), name)));
  }
  return {};
}

// Additional modules that a driver's container may install.
constexpr std::array kDriverModules = {"gdrcopy", "nvidia-fs", "nvidia-peermem"};

Result<std::unique_ptr<Stage>> OneStage(const Site& site) {
  const std::string& component = site.flags().component;
  if (component == "driver") {
    return DriverStage(site);
  }
  if (component == "toolkit") {
    return ToolkitStage(site);
  }
  if (component == "cuda") {
    return CudaStage(site);
  }
  if (component == "plugin") {
    return PluginStage(site);
  }
  if (std::unique_ptr<Stage> stage = ModuleStage(site, component)) {
    return stage;
  }
  if (SandboxStage(site, component, {}) != nullptr) {
    TRY_ASSIGN(const auto labels, NodeLabels(site.flags()));
    return SandboxStage(site, component, labels);
  }
  return Fail(ErrorKind::kInvalid,
              format("check {}: no such component; --help lists them", component));
}

Result<int> CheckOne(const Site& site, host::Signals& signals) {
  std::vector<std::unique_ptr<Stage>> stages;
  TRY_ASSIGN(stages.emplace_back(), OneStage(site));
  if (site.flags().component == "driver") {
    std::ranges::transform(kDriverModules, std::back_inserter(stages),
                           [&site](const char* module) { return ModuleStage(site, module); });
  }
  Loop loop(site, host::Watcher::Create());
  for (std::unique_ptr<Stage>& stage : stages) {
    TRY(site.files().Remove(stage->file()));
    loop.Add(std::move(stage));
  }
  return loop.RunOnce(signals, site.flags().with_wait);
}

int CheckAll(const Site& site, host::Signals& signals) {
  Loop loop(site, host::Watcher::Create());
  loop.Add(DriverStage(site));
  for (const char* module : kDriverModules) {
    loop.Add(ModuleStage(site, module));
  }
  loop.Add(ModuleStage(site, "mofed"));
  if (site.flags().with_toolkit) {
    loop.Add(ToolkitStage(site));
  }
  loop.Add(CudaStage(site));
  if (site.flags().with_plugin) {
    loop.Add(PluginStage(site));
  }
  return loop.Run(signals);
}

// The components of a node for virtual machines, from the start again when the node gets another
// workload.
Result<int> CheckSandbox(const Site& site, host::Signals& signals) {
  const Flags& flags = site.flags();
  agent::OwnNode node(
      {.name = flags.node_name, .component = kProgram, .kubeconfig = flags.kubeconfig});
  TRY(node.WatchLabel(names::kWorkloadConfig));
  while (!signals.stop_requested()) {
    // Another value, or the first one that is known, makes the descriptor readable again.
    if (const auto seen = node.TakeLabel(); !seen.has_value()) {
      log::Debug("{}", seen.error().message);
    }
    TRY_ASSIGN(const auto labels, NodeLabels(flags));
    Loop loop(site, host::Watcher::Create());
    for (const std::string& component : flags.sandbox) {
      std::unique_ptr<Stage> stage = SandboxStage(site, component, labels);
      if (stage == nullptr) {
        return Fail(ErrorKind::kInvalid,
                    format("--sandbox-components: {}: no such component", component));
      }
      loop.Add(std::move(stage));
    }
    if (const int code = loop.Run(signals, node.label_fd()); code != 0) {
      return code;
    }
  }
  return 0;
}

Result<int> Validate(const Flags& flags, host::Signals& signals) {
  TRY_ASSIGN(const host::StatusFiles files, host::StatusFiles::Open(flags.output_dir));
  if (flags.cleanup_all) {
    TRY(EmptyDirectory(files));
  }
  const Site site(flags, files);
  if (!flags.component.empty()) {
    return CheckOne(site, signals);
  }
  return flags.sandbox.empty() ? CheckAll(site, signals) : CheckSandbox(site, signals);
}

int Run(const Flags& flags) {
  if (!flags.probe.empty()) {
    return AnswerProbe(flags);
  }
  host::Signals signals;
  if (flags.component == "metrics") {
    return RunExporter(flags, signals);
  }
  const Result<int> code = Validate(flags, signals);
  if (!code) {
    log::Error("{}: {}", kProgram, code.error().message);
  }
  return code.value_or(1);
}

}  // namespace

int RunValidator(int argc, char** argv) {
  return agent::RunWith(kProgram, ParseFlags(argc, argv), Run);
}

}  // namespace gantry::validator
