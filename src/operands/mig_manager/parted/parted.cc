// SPDX-License-Identifier: Apache-2.0
// Runs one subcommand. What it prints on standard output is what scripts compare with; logs and
// errors are on standard error.
#include "operands/mig_manager/parted/parted.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "gpu/open_nvml.h"
#include "gpu/owners_file.h"
#include "host/files.h"
#include "host/processes.h"
#include "nvml/mig_control.h"
#include "operands/mig_manager/change.h"
#include "operands/mig_manager/checkpoint.h"
#include "operands/mig_manager/config.h"
#include "operands/mig_manager/config_text.h"
#include "operands/mig_manager/parted/flags.h"
#include "operands/mig_manager/parted/hooks.h"
#include "operands/mig_manager/parted/verdict.h"
#include "operands/mig_manager/reset.h"
#include "operands/mig_manager/withdraw.h"
#include "operands/mig_manager/withdrawal.h"

namespace gantry::mig_parted {
namespace {

using mig_manager::Target;

constexpr std::chrono::minutes kHookLimit(10);
// The manager's, or another nvidia-mig-parted's.
constexpr std::chrono::minutes kOtherChangeEnds(5);

void Print(const std::string& text) { std::fputs(text.c_str(), stdout); }

Result<std::string> ReadInput(const std::string& path) {
  return path == "-" ? ReadDescriptor(STDIN_FILENO, "standard input") : ReadFile(path);
}

Status WriteOutput(const std::string& path, const std::string& text) {
  if (path.empty()) {
    Print(text);
    return {};
  }
  return host::WriteFileAtomic(path, text);
}

class Parted {
 public:
  Parted(Flags flags, const nvml::Library& library)
      : flags_(std::move(flags)),
        control_(library),
        journal_(flags_.journal),
        owners_(ParentOf(flags_.journal), mig_manager::kOwner) {}

  Status Run();

 private:
  Result<Layouts> ReadLayouts(const std::vector<nvml::MigGpu>& gpus);
  Status Apply();
  Status Assert();
  Status Export();
  Status GenerateConfig();
  Status Checkpoint();
  Status Restore();
  Status ChangeTo(const std::vector<Target>& targets, const std::vector<nvml::MigGpu>& gpus);
  Status ChangeBetweenHooks(const std::vector<Target>& targets,
                            const std::vector<nvml::MigGpu>& gpus, mig_manager::Change& change);
  Status RunHooks(const char* when) const;
  [[nodiscard]] Status CheckModes(const Layouts& layouts) const;

  const Flags flags_;
  const nvml::MigControl control_;
  const mig_manager::Journal journal_;
  const gpu::OwnersWriter owners_;
  Hooks hooks_;
};

Result<Layouts> Parted::ReadLayouts(const std::vector<nvml::MigGpu>& gpus) {
  TRY_ASSIGN(const std::string text, ReadInput(flags_.config_file));
  const auto config = mig_manager::ParseConfig(text);
  if (!config.has_value()) {
    return std::unexpected(config.error().In(flags_.config_file));
  }
  return mig_manager::LayoutsFor(*config, flags_.selected_config, gpus);
}

Status Parted::RunHooks(const char* when) const {
  const auto found = hooks_.find(when);
  if (found == hooks_.end()) {
    return {};
  }
  for (const Hook& hook : found->second) {
    TRY_ASSIGN(const std::string program, host::FindInPath(hook.command));
    host::Command command{.words = {program},
                          .root = "",
                          .limit = kHookLimit,
                          .environment = HookEnvironment(hook, FlagVariables(flags_)),
                          .own_environment = false,
                          .folder = hook.workdir};
    command.words.insert(command.words.end(), hook.args.begin(), hook.args.end());
    TRY_ASSIGN(const host::Finished finished, host::RunProgram(command));
    std::fputs((finished.output + finished.errors).c_str(), stderr);
    if (finished.exit_status != 0) {
      return Fail(ErrorKind::kInternal,
                  format("hook {} {}: exit status {}", when, hook.command, finished.exit_status));
    }
  }
  return {};
}

// Modes first, so that hooks can stand between them and the instances.
Status Parted::ChangeBetweenHooks(const std::vector<Target>& targets,
                                  const std::vector<nvml::MigGpu>& gpus,
                                  mig_manager::Change& change) {
  const std::vector<Target> modes = mig_manager::ModesOf(targets, gpus);
  TRY(RunHooks(kApplyStart));
  TRY_ASSIGN(const auto mode_plans, mig_manager::PlanAll(modes, gpus));
  if (!mig_manager::AllAsWanted(mode_plans)) {
    TRY(RunHooks(kPreApplyMode));
    TRY(change.To(modes));
  }
  if (flags_.mode_only) {
    return {};
  }
  TRY_ASSIGN(const auto now, control_.Read());
  TRY_ASSIGN(const auto plans, mig_manager::PlanAll(targets, now));
  if (!mig_manager::AllAsWanted(plans)) {
    TRY(RunHooks(kPreApplyConfig));
    TRY(change.To(targets));
  }
  return {};
}

Status Parted::ChangeTo(const std::vector<Target>& targets, const std::vector<nvml::MigGpu>& gpus) {
  if (!flags_.hooks_file.empty()) {
    TRY_ASSIGN(const std::string text, ReadFile(flags_.hooks_file));
    const auto hooks = ParseHooks(text);
    if (!hooks.has_value()) {
      return std::unexpected(hooks.error().In(flags_.hooks_file));
    }
    hooks_ = *hooks;
  }
  mig_manager::Change::Options options;
  if (!flags_.skip_reset) {
    options.reset = [this](const nvml::MigGpu& gpu) {
      return mig_manager::ResetGpu(flags_.driver_root, gpu);
    };
  }
  mig_manager::Change change(control_, journal_, options);
  TRY_ASSIGN(const auto cut_off, journal_.Before());
  if (cut_off.has_value()) {
    TRY(owners_.Take(mig_manager::AllWithdrawn(gpus), mig_manager::kReadersLetGo));
  }
  // What can't be made is found before a hook runs; the end takes back what was cut off earlier.
  const auto plans = mig_manager::PlanAll(targets, gpus);
  if (!plans.has_value()) {
    const Status ended = change.End(std::unexpected(plans.error()));
    TRY(mig_manager::GiveBackAfter(journal_, owners_));
    return ended;
  }
  if (!cut_off.has_value()) {
    TRY(owners_.Take(mig_manager::WithdrawnFor(targets, *plans, flags_.selected_config),
                     mig_manager::kReadersLetGo));
  }
  Status outcome = change.End(ChangeBetweenHooks(targets, gpus, change));
  TRY(mig_manager::GiveBackAfter(journal_, owners_));
  const Status exit = RunHooks(kApplyExit);
  return outcome.has_value() ? exit : outcome;
}

// Whether the modes are in force; with --skip-reset and --mode-only another resets the GPUs.
Status Parted::CheckModes(const Layouts& layouts) const {
  if (flags_.skip_reset && flags_.mode_only) {
    return {};
  }
  TRY_ASSIGN(const auto gpus, control_.Read());
  for (size_t i = 0; i < gpus.size(); ++i) {
    const std::optional<gpu::MigLayout>& wanted = layouts[i];
    if (wanted.has_value() && gpus[i].enabled != wanted->enabled) {
      return Fail(ErrorKind::kUnavailable,
                  format("GPU {}: MIG mode is pending until the GPU is reset; reset it and apply "
                         "again",
                         gpus[i].index));
    }
  }
  return {};
}

Status Parted::Apply() {
  Fd lock;
  if (!flags_.dry_run) {
    TRY_ASSIGN(lock, journal_.Lock(kOtherChangeEnds));
  }
  TRY_ASSIGN(const auto gpus, control_.Read());
  TRY_ASSIGN(const Layouts layouts, ReadLayouts(gpus));
  const std::vector<Target> targets = mig_manager::TargetsOf(gpus, layouts);
  if (flags_.dry_run) {
    const std::vector<Target> shown =
        flags_.mode_only ? mig_manager::ModesOf(targets, gpus) : targets;
    TRY_ASSIGN(const auto shown_plans, mig_manager::PlanAll(shown, gpus));
    Print(mig_manager::PlanText(shown, shown_plans));
    return {};
  }
  TRY(ChangeTo(targets, gpus));
  TRY(CheckModes(layouts));
  Print("MIG configuration applied successfully\n");
  return {};
}

Status Parted::Assert() {
  TRY_ASSIGN(const auto gpus, control_.Read());
  TRY_ASSIGN(const Layouts layouts, ReadLayouts(gpus));
  if (flags_.valid_config) {
    TRY(AssertValid(gpus, layouts));
    Print("Selected MIG configuration is valid\n");
    return {};
  }
  TRY(AssertApplied(gpus, layouts, flags_.mode_only));
  Print(flags_.mode_only ? "Selected MIG mode settings from configuration currently applied\n"
                         : "Selected MIG configuration currently applied\n");
  return {};
}

Status Parted::Export() {
  TRY_ASSIGN(const auto form, mig_manager::ParseConfigFormat(flags_.output_format));
  TRY_ASSIGN(const auto gpus, control_.Read());
  Print(mig_manager::ConfigText(mig_manager::ExportConfig(gpus, flags_.config_label), form));
  return {};
}

Status Parted::GenerateConfig() {
  TRY_ASSIGN(const auto form, mig_manager::ParseConfigFormat(flags_.output_format));
  TRY_ASSIGN(const auto gpus, control_.Read());
  TRY_ASSIGN(const auto config, mig_manager::GenerateConfig(gpus));
  return WriteOutput(flags_.output_file, mig_manager::ConfigText(config, form));
}

Status Parted::Checkpoint() {
  TRY_ASSIGN(const auto gpus, control_.Read());
  TRY(host::WriteFileAtomic(flags_.checkpoint_file, mig_manager::CheckpointOf(gpus).dump() + "\n"));
  Print("MIG configuration checkpointed successfully\n");
  return {};
}

Status Parted::Restore() {
  TRY_ASSIGN(const Fd lock, journal_.Lock(kOtherChangeEnds));
  TRY_ASSIGN(const std::string text, ReadFile(flags_.checkpoint_file));
  const auto layouts = mig_manager::ParseCheckpoint(text);
  if (!layouts.has_value()) {
    return std::unexpected(layouts.error().In(flags_.checkpoint_file));
  }
  TRY_ASSIGN(const auto gpus, control_.Read());
  std::vector<Target> targets;
  for (const auto& [uuid, layout] : *layouts) {
    const auto gpu = std::ranges::find(gpus, uuid, &nvml::MigGpu::uuid);
    targets.push_back(
        {.index = gpu == gpus.end() ? 0 : gpu->index, .uuid = uuid, .layout = layout});
  }
  TRY(ChangeTo(targets, gpus));
  Print("MIG configuration restored successfully\n");
  return {};
}

Status Parted::Run() {
  switch (flags_.word) {
    case Word::kApply:
      return Apply();
    case Word::kAssert:
      return Assert();
    case Word::kExport:
      return Export();
    case Word::kGenerateConfig:
      return GenerateConfig();
    case Word::kCheckpoint:
      return Checkpoint();
    case Word::kRestore:
      return Restore();
  }
  return {};
}

Status RunFlags(const Flags& flags) {
  TRY_ASSIGN(const auto library, gpu::OpenNvml({.driver_root = flags.driver_root,
                                                .or_by_loader = true,
                                                .dev_root = flags.dev_root}));
  return Parted(flags, *library).Run();
}

}  // namespace

int RunMigParted(int argc, char** argv) {
  const auto parsed = ParseFlags(argc, argv);
  if (!parsed.has_value()) {
    log::Error("{}: {}", kProgram, parsed.error().message);
    return 1;
  }
  const std::optional<Flags>& flags = *parsed;
  const Status ran = flags.has_value() ? RunFlags(*flags) : Status();
  if (!ran.has_value()) {
    log::Error("{}", ran.error().message);
  }
  return ran.has_value() ? 0 : 1;
}

}  // namespace gantry::mig_parted
