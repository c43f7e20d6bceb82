// SPDX-License-Identifier: Apache-2.0
// How is Docker configured and reloaded? `dockerd --validate` checks a file; GET /info lists the
// running daemon's runtimes. A reload keeps the process, and with it every container.
#include "operands/container_toolkit/docker_setup.h"

#include <signal.h>

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/option_value.h"
#include "base/paths.h"
#include "base/text.h"
#include "container/docker_status.h"
#include "operands/container_toolkit/desired_files.h"
#include "operands/container_toolkit/trial_folder.h"

namespace gantry::container_toolkit {
namespace {

using std::chrono::seconds;

constexpr char kDockerConfig[] = "/etc/docker/daemon.json";

}  // namespace

DockerSetup::DockerSetup(const Flags& flags, FoundRuntime found_runtime,
                         std::vector<std::string> noted_drop_ins)
    : RuntimeSetup(flags, std::move(found_runtime), std::move(noted_drop_ins)),
      config_path_(OptionValue(found().words, {"--config-file"})) {
  if (config_path_.empty()) {
    config_path_ = kDockerConfig;
  }
}

Result<RuntimeSetup::Wanted> DockerSetup::Plan() {
  Watch(config_path_);
  if (const std::string asked = AskedConfig();
      !asked.empty() && Here(asked) != Here(config_path_)) {
    return Fail(ErrorKind::kInvalid,
                format("read --config (RUNTIME_CONFIG, DOCKER_CONFIG) {}: the dockerd that runs "
                       "reads {} and no other file; leave the variable out",
                       asked, config_path_));
  }
  container::DockerWish wish;
  wish.path = config_path_;
  if (auto text = ReadFile(Here(config_path_))) {
    wish.text = *std::move(text);
  } else if (text.error().kind != ErrorKind::kNotFound) {
    return std::unexpected(text.error());
  }
  wish.program = RuntimeProgram(flags());
  wish.runtime_name = flags().runtime_name;
  wish.set_as_default = flags().set_as_default;
  wish.enable_cdi = flags().cdi_in_runtime.value_or(flags().cdi_enabled);
  TRY_ASSIGN(const container::DockerPlan plan, container::PlanDocker(wish));
  Wanted wanted;
  wanted.handlers = plan.handlers;
  wanted.remarks = plan.remarks;
  if (plan.text != plan.before) {
    wanted.changes.push_back(
        {host::Change::Kind::kFile, config_path_, plan.text, 0644, plan.before});
  }
  return wanted;
}

Result<std::string> DockerSetup::TryOut(const Wanted& wanted) {
  TRY_ASSIGN(const TrialFolder folder, TrialFolder::Make(flags().host_root));
  TRY_ASSIGN(const std::string path, folder.Write("daemon.json", wanted.changes.front().content));
  TRY_ASSIGN(const host::Finished checked,
             host::RunProgram({{found().program, "--validate", "--config-file", path},
                               flags().host_root,
                               seconds(10)}));
  // Before 23.0 there is no --validate.
  const bool unknown = checked.errors.find("unknown flag") != std::string::npos;
  if (checked.exit_status != 0 && !unknown) {
    return Fail(ErrorKind::kInvalid,
                format("{} --validate: {}", found().program, Trim(checked.errors)));
  }
  return container::EffectiveDocker(wanted.changes.front().content);
}

Result<std::string> DockerSetup::Effective() {
  return container::EffectiveDocker(ReadFile(Here(config_path_)).value_or(""));
}

Result<host::ProcessId> DockerSetup::Answers(const host::ProcessId& /*before*/,
                                             const std::vector<std::string>& handlers,
                                             std::chrono::milliseconds limit) const {
  TRY_ASSIGN(const auto status, container::AskDocker(Here(found().socket), limit));
  for (const std::string& name : handlers) {
    if (std::ranges::find(status.runtimes, name) == status.runtimes.end()) {
      return Fail(ErrorKind::kUnavailable, "it has no runtime " + name);
    }
  }
  return host::Identify(status.pid);
}

Status DockerSetup::Restart(const host::ProcessId& process) const {
  if (!ReloadsInPlace()) {
    return RuntimeSetup::Restart(process);
  }
  log::Info("docker (process {}) reads its configuration again", process.pid);
  return host::SendSignal(process, SIGHUP);
}

}  // namespace gantry::container_toolkit
