// SPDX-License-Identifier: Apache-2.0
// How is containerd configured and restarted? Its command line and its files show which files it
// reads; `containerd config dump` of the same program shows what it would read from others.
#include "operands/container_toolkit/containerd_setup.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "operands/container_toolkit/desired_files.h"
#include "operands/container_toolkit/kubelet_endpoint.h"
#include "operands/container_toolkit/trial_folder.h"

namespace gantry::container_toolkit {
namespace {

using std::chrono::seconds;

// Note in the journal: k3s was restarted once so that it finds the toolkit.
constexpr char kOwnerRestarted[] = "owner-restarted";

}  // namespace

Result<std::unique_ptr<RuntimeSetup>> ContainerdSetup::Make(const Flags& flags, FoundRuntime found,
                                                            std::vector<std::string> drop_ins) {
  std::unique_ptr<ContainerdSetup> setup(
      new ContainerdSetup(flags, std::move(found), std::move(drop_ins)));
  TRY(setup->ReadFiles());
  return setup;
}

// Which files count, and how the user's paths relate to them.
Status ContainerdSetup::ChooseLayout() {
  container::ContainerdPlace place;
  place.root_path = container::ContainerdRootPath(found().words);
  if (!place.root_path.starts_with("/")) {
    std::error_code gone;
    const auto folder =
        std::filesystem::read_symlink(format("/proc/{}/cwd", found().process.pid), gone);
    const std::string path = (folder / place.root_path).lexically_normal();
    place.root_path = WithoutRoot(flags().host_root, path).value_or(path);
  }
  place.asked_root = std::filesystem::path(AskedConfig()).lexically_normal();
  place.asked_drop_in = AskedDropIn();
  const auto compare = [&]() -> Status {
    place.root_text = ReadFile(Here(place.root_path)).value_or("");
    place.has_template = ReadFile(Here(container::MicroK8sTemplate(place.root_path))).has_value();
    place.asked_is_root = Here(place.asked_root) == Here(place.root_path);
    container::ContainerdWish root;
    root.root_path = place.root_path;
    root.root_text = place.root_text;
    TRY_ASSIGN(place.asked_is_read, container::IsRead(flags().host_root, root, place.asked_root));
    return {};
  };
  TRY(compare());
  const bool told = EngineOf(found().words) == "containerd";
  if (!told && !place.asked_root.empty() && !place.asked_is_read) {
    // Another program serves the socket: only the flag says which file containerd reads.
    place.root_path = place.asked_root;
    TRY(compare());
  }
  auto layout = LayoutOf(place);
  if (layout) {
    layout_ = *std::move(layout);
  } else {
    accepted_ = std::unexpected(layout.error());
    layout_.root_path = place.root_path;
    layout_.edit_root = false;
  }
  return {};
}

Status ContainerdSetup::ReadFiles() {
  TRY(ChooseLayout());
  wish_.root_path = layout_.root_path;
  wish_.drop_in_path = layout_.drop_in_path;
  wish_.edit_root = layout_.edit_root;
  const auto text = ReadFile(Here(layout_.root_path));
  if (text) {
    wish_.root_text = *text;
  } else if (text.error().kind != ErrorKind::kNotFound) {
    return std::unexpected(text.error());
  }
  if (!layout_.template_path.empty()) {
    TRY_ASSIGN(wish_.template_text, ReadFile(Here(layout_.template_path)));
  }
  TRY_ASSIGN(const host::Finished version,
             host::RunProgram({{found().program, "--version"}, flags().host_root, seconds(5)}));
  wish_.version = container::ParseContainerdVersion(version.output);
  wish_.program = RuntimeProgram(flags());
  wish_.runtime_name = flags().runtime_name;
  wish_.runtime_type = flags().runtime_type;
  wish_.set_as_default = flags().set_as_default;
  wish_.enable_cdi = flags().cdi_in_runtime.value_or(flags().cdi_enabled);
  wish_.annotation_prefixes = flags().annotation_prefixes;
  wish_.kubelet_uses_systemd = found().kubelet_uses_systemd;
  wish_.legacy_schema = flags().use_legacy_config;
  // It names only one of Gantry's paths, now or before.
  for (const std::string& path : drop_ins()) {
    for (std::optional<std::string>* file : {&wish_.root_text, &wish_.template_text}) {
      if (*file && path != wish_.drop_in_path) {
        **file = container::WithoutOurPart(**file, path);
      }
    }
  }
  TRY_ASSIGN(container::DropInPlace place_of_ours,
             container::PlaceDropIn(flags().host_root, wish_, drop_ins()));
  if (!place_of_ours.remark.empty()) {
    layout_.remarks.push_back(place_of_ours.remark);
  }
  layout_.drop_in_path = wish_.drop_in_path = place_of_ours.path;
  imports_ = std::move(place_of_ours.imports);
  std::ranges::transform(imports_.files, std::back_inserter(wish_.imported),
                         &container::ImportedFile::text);
  return {};
}

std::vector<std::string> ContainerdSetup::LowLevelRuntimes() const {
  return container::LowLevelRuntimes(wish_);
}

Result<RuntimeSetup::Wanted> ContainerdSetup::Plan() {
  using Kind = host::Change::Kind;
  Watch(layout_.root_path);
  for (const container::ImportedFile& file : imports_.files) {
    Watch(file.path);
  }
  TRY(accepted_);
  if (const std::string why = container::WhyNoCri(wish_, imports_); !why.empty()) {
    return Fail(ErrorKind::kInvalid, why);
  }
  TRY_ASSIGN(plan_, container::PlanContainerd(wish_));
  Wanted wanted;
  wanted.handlers = plan_.handlers;
  wanted.drop_in = layout_.drop_in_path;
  wanted.remarks = layout_.remarks;
  wanted.remarks.insert(wanted.remarks.end(), plan_.remarks.begin(), plan_.remarks.end());
  if (!plan_.drop_in_text.empty()) {
    Watch(layout_.drop_in_path);
    wanted.changes.push_back(
        {Kind::kFile, layout_.drop_in_path, plan_.drop_in_text, 0644, std::nullopt});
  }
  if (plan_.root_text != plan_.root_before) {
    const std::string edited = EditedFiles().front();
    Watch(edited);
    wanted.changes.push_back({Kind::kFile, edited, plan_.root_text, 0644, plan_.root_before});
  }
  return wanted;
}

std::vector<std::string> ContainerdSetup::EditedFiles() const {
  return {layout_.template_path.empty() ? layout_.root_path : layout_.template_path};
}

// The effective configuration as the host's containerd reads it from a root file.
Result<std::string> ContainerdSetup::Dump(const std::string& config) const {
  std::vector<std::string> words = {found().program};
  if (!config.empty()) {
    words.insert(words.end(), {"--config", config});
  }
  words.insert(words.end(), {"config", "dump"});
  TRY_ASSIGN(const host::Finished dump, host::RunProgram({words, flags().host_root, seconds(10)}));
  if (dump.exit_status != 0) {
    return Fail(ErrorKind::kInvalid,
                format("{} config dump: {}", found().program, Trim(dump.errors)));
  }
  return dump.output;
}

Result<std::string> ContainerdSetup::Effective() {
  const bool there = ReadFile(Here(layout_.root_path)).has_value();
  TRY_ASSIGN(const std::string dump, Dump(there ? layout_.root_path : ""));
  return container::EffectiveConfig(dump);
}

// The effective configuration of the plan, from copies in a separate folder.
Result<std::string> ContainerdSetup::TryOut(const Wanted& wanted) {
  TRY_ASSIGN(const TrialFolder folder, TrialFolder::Make(flags().host_root));
  std::vector<std::string> imports;
  std::ranges::transform(imports_.files, std::back_inserter(imports),
                         &container::ImportedFile::path);
  if (!plan_.drop_in_text.empty()) {
    TRY_ASSIGN(const std::string path, folder.Write("drop-in.toml", plan_.drop_in_text));
    imports.insert(imports.begin() + static_cast<std::ptrdiff_t>(imports_.before_ours), path);
  }
  TRY_ASSIGN(const std::string root,
             folder.Write("config.toml", container::WithImports(plan_.trial_text, imports)));
  TRY_ASSIGN(const std::string dump, Dump(root));
  const std::vector<std::string> handlers = container::HandlersInDump(dump);
  for (const std::string& name : wanted.handlers) {
    if (std::ranges::find(handlers, name) == handlers.end()) {
      return Fail(ErrorKind::kInvalid, format("try the configuration of {}: it has no runtime {}",
                                              found().program, name));
    }
  }
  return container::EffectiveConfig(dump);
}

Result<RuntimeSetup::Outcome> ContainerdSetup::Install(host::Journal& journal) {
  return accepted_ && layout_.drop_in_path.empty() ? RestartForItsOwner(journal)
                                                   : RuntimeSetup::Install(journal);
}

// k3s and RKE2 before their drop-in folders: the next start overwrites the configuration, but at
// that start they detect the toolkit's programs in its default folder and configure them.
Result<RuntimeSetup::Outcome> ContainerdSetup::RestartForItsOwner(host::Journal& journal) {
  Outcome outcome;
  outcome.remarks = layout_.remarks;
  Watch(layout_.root_path);
  const std::string program = RuntimeProgram(flags());
  if (container::HasRuntime(wish_.root_text.value_or(""), flags().runtime_name, program)) {
    TRY(NoteHandlers(journal, {flags().runtime_name}));
    return outcome;
  }
  const std::string owner(container::OwnerName(layout_.owner));
  if (!journal.Note(kOwnerRestarted).empty() || flags().restart_mode == "none") {
    return Fail(ErrorKind::kUnsupported,
                format("configure containerd of {}: it reads no drop-in and found no {} at {} when "
                       "it started; set toolkit.installDir to /usr/local/nvidia, or update it",
                       owner, flags().runtime_name, program));
  }
  TRY(journal.SetNote(kOwnerRestarted, "once"));
  log::Info("{} is restarted once, so that it finds the toolkit", owner);
  TRY(RestartAndWait({}));
  outcome.restarted = true;
  return outcome;
}

seconds ContainerdSetup::AnswerWithin() const {
  // containerd's systemd unit waits 5 s before it restarts the program; k0s waits 3 s for further
  // changes and then 5 s. k3s restarts entirely.
  return layout_.owner == container::ContainerdOwner::kAdministrator ||
                 layout_.owner == container::ContainerdOwner::kMicroK8s
             ? seconds(7)
             : seconds(layout_.restarts_itself ? 12 : 60);
}

}  // namespace gantry::container_toolkit
