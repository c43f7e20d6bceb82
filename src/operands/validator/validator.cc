// SPDX-License-Identifier: Apache-2.0
// Is this node's GPU stack whole, and what is missing? Chooses the stages: all of them until
// stopped, or the one component that NVIDIA's manifests name, once.
#include "operands/validator/validator.h"

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/files.h"
#include "operands/validator/cluster.h"
#include "operands/validator/exporter.h"
#include "operands/validator/loop.h"
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

Result<int> CheckOne(const Site& site, host::Watcher watcher, host::Signals& signals) {
  TRY_ASSIGN(std::unique_ptr<Stage> stage, OneStage(site));
  TRY(site.files().Remove(stage->file()));
  Loop loop(site, std::move(watcher));
  TRY(loop.Add(std::move(stage)));
  return loop.RunOnce(signals, site.flags().with_wait);
}

Result<int> CheckAll(const Site& site, host::Watcher watcher, host::Signals& signals) {
  Loop loop(site, std::move(watcher));
  TRY(loop.Add(DriverStage(site)));
  for (const char* component : {"gdrcopy", "nvidia-fs", "nvidia-peermem", "mofed"}) {
    TRY(loop.Add(ModuleStage(site, component)));
  }
  if (site.flags().with_toolkit) {
    TRY(loop.Add(ToolkitStage(site)));
  }
  TRY(loop.Add(CudaStage(site)));
  if (site.flags().with_plugin) {
    TRY(loop.Add(PluginStage(site)));
  }
  return loop.Run(signals);
}

Result<int> Validate(const Flags& flags, host::Signals& signals) {
  TRY_ASSIGN(const host::StatusFiles files, host::StatusFiles::Open(flags.output_dir));
  if (flags.cleanup_all) {
    TRY(EmptyDirectory(files));
  }
  TRY_ASSIGN(host::Watcher watcher, host::Watcher::Create());
  const Site site(flags, files);
  return flags.component.empty() ? CheckAll(site, std::move(watcher), signals)
                                 : CheckOne(site, std::move(watcher), signals);
}

}  // namespace

int RunValidator(int argc, char** argv) {
  const std::variant<Flags, int> parsed = ParseFlags(argc, argv);
  if (const int* code = std::get_if<int>(&parsed)) {
    return *code;
  }
  const Flags& flags = std::get<Flags>(parsed);
  if (!flags.probe.empty()) {
    return AnswerProbe(flags);
  }
  host::Signals signals;
  if (flags.component == "metrics") {
    return RunExporter(flags, signals);
  }
  const Result<int> code = Validate(flags, signals);
  if (!code) {
    log::Error("{}: {}", kOwner, code.error().message);
    return 1;
  }
  return *code;
}

}  // namespace gantry::validator
