// SPDX-License-Identifier: Apache-2.0
// How is CRI-O configured and restarted? `crio config` of the same program checks a configuration
// and prints the result. CRI-O reads its runtimes at its start, and always runs under systemd.
#include "operands/container_toolkit/crio_setup.h"

#include <algorithm>
#include <chrono>

#include "base/option_value.h"
#include "base/paths.h"
#include "base/text.h"
#include "container/containerd.h"
#include "operands/container_toolkit/desired_files.h"
#include "operands/container_toolkit/trial_folder.h"

namespace gantry::container_toolkit {
namespace {

using std::chrono::seconds;

constexpr char kCrioConfig[] = "/etc/crio/crio.conf";
constexpr char kDefaultFolder[] = "/etc/crio/crio.conf.d";
constexpr char kDropInName[] = "99-nvidia.toml";

}  // namespace

CrioSetup::CrioSetup(const Flags& flags, FoundRuntime found_runtime,
                     std::vector<std::string> noted_drop_ins)
    : RuntimeSetup(flags, std::move(found_runtime), std::move(noted_drop_ins)),
      config_path_(OptionValue(found().words, {"--config", "-c"})),
      config_dir_(OptionValue(found().words, {"--config-dir", "-d"})),
      drop_in_path_(AskedDropIn()) {
  if (config_path_.empty()) {
    config_path_ = kCrioConfig;
  }
  if (config_dir_.empty()) {
    config_dir_ = kDefaultFolder;
  }
  if (drop_in_path_.empty()) {
    drop_in_path_ = JoinPath(config_dir_, kDropInName);
  }
}

std::vector<CrioSetup::File> CrioSetup::ReadFiles() const {
  std::vector<File> files;
  const auto add = [&](const std::string& path) {
    auto text = ReadFile(Here(path));
    const bool ours =
        path == drop_in_path_ || std::ranges::find(drop_ins(), path) != drop_ins().end();
    if (text && !ours) {
      files.push_back({path, *std::move(text)});
    }
  };
  add(config_path_);
  for (const std::string& name :
       ListDirectory(Here(config_dir_)).value_or(std::vector<std::string>{})) {
    add(JoinPath(config_dir_, name));
  }
  return files;
}

std::vector<std::string> CrioSetup::Texts() const {
  std::vector<std::string> texts;
  for (File& file : ReadFiles()) {
    texts.push_back(std::move(file.text));
  }
  return texts;
}

std::vector<std::string> CrioSetup::LowLevelRuntimes() const {
  return container::CrioRuntimePaths(Texts());
}

// CRI-O reads one file and the files of one folder.
Status CrioSetup::CheckAsked() const {
  const auto is_read = [&](const std::string& path) {
    return Here(ParentOf(path)) == Here(config_dir_);
  };
  if (const std::string asked = AskedConfig();
      !asked.empty() && Here(asked) != Here(config_path_) && !is_read(asked)) {
    return Fail(ErrorKind::kInvalid,
                format("read --config (RUNTIME_CONFIG) {}: the CRI-O that runs reads {} and the "
                       "files of {}; leave the variable out",
                       asked, config_path_, config_dir_));
  }
  if (!is_read(drop_in_path_)) {
    return Fail(ErrorKind::kInvalid,
                format("read --drop-in-config (RUNTIME_DROP_IN_CONFIG) {}: the CRI-O that runs "
                       "reads {} and the files of {}; leave the variable out, or name a file there",
                       drop_in_path_, config_path_, config_dir_));
  }
  return {};
}

Result<RuntimeSetup::Wanted> CrioSetup::Plan() {
  using Kind = host::Change::Kind;
  Wanted wanted;
  Watch(config_path_);
  Watch(config_dir_);
  TRY(CheckAsked());
  container::CrioWish wish;
  wish.present = Texts();
  wish.program = RuntimeProgram(flags());
  wish.runtime_name = flags().runtime_name;
  wish.set_as_default = flags().set_as_default;
  TRY_ASSIGN(const container::CrioPlan plan, container::PlanCrio(wish));
  wanted.handlers = plan.handlers;
  wanted.drop_in = drop_in_path_;
  if (!plan.drop_in_text.empty() && flags().restart_mode == "signal") {
    return Fail(ErrorKind::kInvalid,
                "restart crio: it can't be restarted by a signal; use restart mode systemd");
  }
  if (!plan.drop_in_text.empty()) {
    Watch(drop_in_path_);
    wanted.changes.push_back({Kind::kFile, drop_in_path_, plan.drop_in_text, 0644, std::nullopt});
  }
  return wanted;
}

Result<std::string> CrioSetup::Dump(const std::string& config, const std::string& folder) const {
  TRY_ASSIGN(
      const host::Finished dump,
      host::RunProgram({{found().program, "--config", config, "--config-dir", folder, "config"},
                        flags().host_root,
                        seconds(10)}));
  if (dump.exit_status != 0) {
    return Fail(ErrorKind::kInvalid, format("{} config: {}", found().program, Trim(dump.errors)));
  }
  return dump.output;
}

Result<std::string> CrioSetup::Effective() {
  TRY_ASSIGN(const std::string dump, Dump(config_path_, config_dir_));
  return container::EffectiveConfig(dump);
}

Result<std::string> CrioSetup::TryOut(const Wanted& wanted) {
  TRY_ASSIGN(const TrialFolder folder, TrialFolder::Make(flags().host_root));
  TRY(folder.Write("crio.conf", ""));
  for (const File& file : ReadFiles()) {
    const bool main = file.path == config_path_;
    TRY(folder.Write(main ? "crio.conf" : JoinPath("d", BaseName(file.path)), file.text));
  }
  TRY(folder.Write(JoinPath("d", BaseName(drop_in_path_)), wanted.changes.front().content));
  TRY_ASSIGN(const std::string dump,
             Dump(JoinPath(folder.host_path(), "crio.conf"), JoinPath(folder.host_path(), "d")));
  TRY_ASSIGN(const std::vector<std::string> handlers, container::CrioHandlers(dump));
  for (const std::string& name : wanted.handlers) {
    if (std::ranges::find(handlers, name) == handlers.end()) {
      return Fail(ErrorKind::kInvalid, format("try the configuration of {}: it has no runtime {}",
                                              found().program, name));
    }
  }
  return container::EffectiveConfig(dump);
}

}  // namespace gantry::container_toolkit
