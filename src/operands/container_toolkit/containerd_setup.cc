// SPDX-License-Identifier: Apache-2.0
// Acting on containerd: what container/containerd.h planned is tried out, written through the
// journal, and made known to the runtime. Whether a restart is needed is told by what the running
// process has read: the journal keeps, for the process (pid and start time), a fingerprint of its
// effective configuration, so that a repaired drop-in or a restart of the toolkit costs none.
#include "operands/container_toolkit/containerd_setup.h"

#include <fnmatch.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <set>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "container/cri_status.h"
#include "host/files.h"
#include "host/watch.h"

namespace gantry::container_toolkit {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr char kDefaultConfig[] = "/etc/containerd/config.toml";
constexpr char kDropInBelow[] = "conf.d/99-nvidia.toml";
// systemd's unit of containerd waits 5 s before it starts the program again.
constexpr seconds kAnswerWithin(7);
constexpr milliseconds kAskAgain(20);
// Notes in the journal.
constexpr char kRunning[] = "containerd-running";  // "<pid> <start time> <fingerprint>"
constexpr char kRefused[] = "containerd-refused";  // fingerprint of what was rolled back

std::string Fingerprint(const std::string& text) {
  unsigned long long hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return format("{:016x}-{}", hash, text.size());
}

std::string RunningNote(const host::ProcessId& process, const std::string& effective) {
  return format("{} {} {}", process.pid, process.start_time, Fingerprint(effective));
}

// The value of --config or -c among the words of a command line.
std::string ConfigOf(const std::vector<std::string>& words) {
  for (size_t i = 1; i < words.size(); ++i) {
    for (const std::string_view name : {"--config", "-c", "-config"}) {
      if (words[i] == name && i + 1 < words.size()) {
        return words[i + 1];
      }
      if (words[i].starts_with(std::string(name) + "=")) {
        return words[i].substr(name.size() + 1);
      }
    }
  }
  return "";
}

// A folder on the host that goes with the object.
class TrialFolder {
 public:
  static Result<TrialFolder> Make(const std::string& host_root) {
    TRY_ASSIGN(const std::string run, ResolveInRoot(host_root, "/run"));
    std::string pattern = JoinPath(run, "containerd-trial.XXXXXX");
    if (::mkdtemp(pattern.data()) == nullptr) {
      return FailErrno("make a folder in " + run, errno);
    }
    return TrialFolder(pattern);
  }
  TrialFolder(TrialFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TrialFolder(const TrialFolder&) = delete;
  TrialFolder& operator=(const TrialFolder&) = delete;
  TrialFolder& operator=(TrialFolder&&) = delete;
  ~TrialFolder() {
    if (path_.empty()) {
      return;
    }
    for (const std::string& name : ListDirectory(path_).value_or(std::vector<std::string>{})) {
      ::unlink(JoinPath(path_, name).c_str());
    }
    ::rmdir(path_.c_str());
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit TrialFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace

std::string ContainerdSetup::Here(const std::string& host_path) const {
  return ResolveInRoot(options_.host_root, host_path)
      .value_or(JoinPath(options_.host_root, host_path));
}

Result<ContainerdSetup::Runtime> ContainerdSetup::FindRuntime() const {
  Runtime runtime;
  TRY_ASSIGN(runtime.process, host::SocketPeer(Here(options_.socket)));
  runtime.config_path = options_.runtime_config;
  if (runtime.config_path.empty()) {
    TRY_ASSIGN(const auto words, host::CommandLine(runtime.process.pid));
    runtime.config_path = ConfigOf(words);
  }
  if (runtime.config_path.empty()) {
    runtime.config_path = kDefaultConfig;
  }
  runtime.program = options_.executable;
  if (!runtime.program.starts_with("/")) {
    TRY_ASSIGN(const std::string program, host::ProgramPath(runtime.process.pid));
    // Its own mount namespace is the host's as a rule; where it is ours, the path has our prefix.
    runtime.program = WithoutRoot(options_.host_root, program).value_or(program);
  }
  TRY_ASSIGN(const host::Finished version,
             host::RunProgram({{runtime.program, "--version"}, options_.host_root, seconds(5)}));
  runtime.version = container::ParseContainerdVersion(version.output);
  return runtime;
}

std::string ContainerdSetup::DropInPath(const Runtime& runtime) const {
  return options_.drop_in_config.empty() ? JoinPath(ParentOf(runtime.config_path), kDropInBelow)
                                         : options_.drop_in_config;
}

// Reads the root file and, in containerd's order, what it imports; a file counts once.
Result<ContainerdSetup::Files> ContainerdSetup::ReadFiles(const Runtime& runtime) const {
  Files files;
  container::ContainerdWish& wish = files.wish;
  wish.root_path = runtime.config_path;
  wish.drop_in_path = DropInPath(runtime);
  wish.version = runtime.version;
  wish.toolkit_dir = JoinPath(options_.install_dir, "toolkit");
  wish.runtime_name = options_.runtime_name;
  wish.runtime_type = options_.runtime_type;
  wish.set_as_default = options_.set_as_default;
  wish.enable_cdi = options_.cdi_in_runtime.value_or(options_.cdi_enabled);
  wish.annotation_prefixes = options_.annotation_prefixes;
  const auto text = ReadFile(Here(runtime.config_path));
  if (text) {
    wish.root_text = *text;
  } else if (text.error().kind != ErrorKind::kNotFound) {
    return std::unexpected(text.error());
  }
  if (auto drop_in = ReadFile(Here(wish.drop_in_path))) {
    files.drop_in = *std::move(drop_in);
  }
  std::set<std::string> seen = {runtime.config_path, wish.drop_in_path};
  std::deque<std::pair<std::string, std::string>> pending = {
      {runtime.config_path, wish.root_text.value_or("")}};
  while (!pending.empty()) {
    const auto [path, content] = std::move(pending.front());
    pending.pop_front();
    for (const std::string& import : container::ContainerdImports(content)) {
      const std::string pattern =
          import.starts_with("/") ? import : JoinPath(ParentOf(path), import);
      TRY_ASSIGN(const auto found, GlobInRoot(options_.host_root, pattern));
      for (const std::string& here : found) {
        const std::string host_path = WithoutRoot(options_.host_root, here).value_or(here);
        const auto imported = ReadFile(Here(host_path));
        if (imported && seen.insert(host_path).second) {
          wish.imported.push_back(*imported);
          files.import_files.push_back(host_path);
          pending.emplace_back(host_path, *imported);
        }
      }
    }
  }
  return files;
}

// The effective configuration as the host's containerd reads it from a root file.
Result<std::string> ContainerdSetup::Dump(const Runtime& runtime, const std::string& config) const {
  std::vector<std::string> words = {runtime.program};
  if (!config.empty()) {
    words.insert(words.end(), {"--config", config});
  }
  words.insert(words.end(), {"config", "dump"});
  TRY_ASSIGN(const host::Finished dump, host::RunProgram({words, options_.host_root, seconds(10)}));
  if (dump.exit_status != 0) {
    return Fail(ErrorKind::kInvalid,
                format("{} config dump: {}", runtime.program, Trim(dump.errors)));
  }
  return dump.output;
}

// What containerd would make of the plan, from copies in a folder of their own. kInvalid: it
// refuses them, or they do not give the handlers.
Result<std::string> ContainerdSetup::TryOut(const Runtime& runtime, const Files& files,
                                            const container::ContainerdPlan& plan) const {
  TRY_ASSIGN(const TrialFolder folder, TrialFolder::Make(options_.host_root));
  const std::string host_folder =
      WithoutRoot(options_.host_root, folder.path()).value_or(folder.path());
  std::vector<std::string> imports = files.import_files;
  if (!plan.drop_in_text.empty()) {
    imports.push_back(JoinPath(host_folder, "drop-in.toml"));
    TRY(host::WriteFileAtomic(JoinPath(folder.path(), "drop-in.toml"), plan.drop_in_text));
  }
  TRY(host::WriteFileAtomic(JoinPath(folder.path(), "config.toml"),
                            container::WithImports(plan.root_text, imports)));
  TRY_ASSIGN(const std::string dump, Dump(runtime, JoinPath(host_folder, "config.toml")));
  const std::vector<std::string> handlers = container::HandlersInDump(dump);
  for (const std::string& wanted : plan.handlers) {
    if (std::ranges::find(handlers, wanted) == handlers.end()) {
      return Fail(ErrorKind::kInvalid, format("try the configuration of {}: it has no runtime {}",
                                              runtime.program, wanted));
    }
  }
  return container::EffectiveConfig(dump);
}

Result<ContainerdSetup::Outcome> ContainerdSetup::Install(host::Journal& journal) {
  Outcome outcome;
  TRY_ASSIGN(const Runtime runtime, FindRuntime());
  TRY_ASSIGN(const Files files, ReadFiles(runtime));
  drop_in_path_ = files.wish.drop_in_path;
  watched_ = {Here(runtime.config_path), Here(drop_in_path_)};
  for (const std::string& path : files.import_files) {
    watched_.push_back(Here(path));
  }
  TRY_ASSIGN(const container::ContainerdPlan plan, container::PlanContainerd(files.wish));
  outcome.remarks = plan.remarks;
  const bool ours = !plan.drop_in_text.empty() || plan.root_text != plan.root_before;
  if (!ours && !files.drop_in && plan.root_before == files.wish.root_text.value_or("")) {
    return outcome;  // somebody else gave it all that is wanted
  }
  const bool in_place = plan.root_text == files.wish.root_text.value_or("") &&
                        plan.drop_in_text == files.drop_in.value_or("");
  const std::string asked = Fingerprint(plan.root_text + plan.drop_in_text);
  if (journal.Note(kRefused) == asked) {
    return Fail(ErrorKind::kTimeout,
                "configure containerd: it did not come back with this configuration before; "
                "change it or its files to have it tried again");
  }
  const std::string note = journal.Note(kRunning);
  const std::string prefix = format("{} {} ", runtime.process.pid, runtime.process.start_time);
  if (in_place && note.starts_with(prefix) && !note.ends_with(" pending")) {
    return outcome;  // as it was left, and the runtime that was seen to have read it
  }
  TRY_ASSIGN(const std::string wanted, TryOut(runtime, files, plan));
  if (!in_place) {
    if (!note.starts_with(prefix)) {
      // What this process has read is what the files said until now.
      const auto before = Dump(runtime, files.wish.root_text ? runtime.config_path : "");
      const auto effective = before ? container::EffectiveConfig(*before)
                                    : Result<std::string>(std::unexpected(before.error()));
      TRY(journal.SetNote(kRunning, RunningNote(runtime.process, effective.value_or(""))));
    }
    using Kind = host::Change::Kind;
    std::vector<host::Change> changes;
    if (!plan.drop_in_text.empty()) {
      changes.push_back({Kind::kFile, drop_in_path_, plan.drop_in_text, 0644, std::nullopt});
    }
    if (plan.root_text != files.wish.root_text.value_or("")) {
      changes.push_back({Kind::kFile, runtime.config_path, plan.root_text, 0644, plan.root_before});
    }
    TRY_ASSIGN(outcome.changed, journal.Apply(changes));
  }
  const auto restarted = RestartIfNeeded(journal, runtime, wanted, plan.handlers);
  if (!restarted) {
    const auto take_out = [&](const std::string&, const std::string& text) {
      return container::WithoutOurPart(text, drop_in_path_);
    };
    TRY(journal.Undo(runtime.config_path, take_out));
    TRY(journal.Undo(drop_in_path_, take_out));
    TRY(journal.SetNote(kRefused, asked));
    TRY(journal.SetNote(kRunning, ""));
    // It may be gone, its supervisor trying again: then it finds the old files by itself.
    if (const auto now = FindRuntime()) {
      TRY(Restart(*now));
    }
    return std::unexpected(restarted.error().In("configure containerd (taken back)"));
  }
  outcome.restarted = *restarted;
  TRY(journal.SetNote(kRefused, ""));
  return outcome;
}

// Restarts the runtime unless the process that runs has read the wanted configuration; true if it
// was restarted.
Result<bool> ContainerdSetup::RestartIfNeeded(host::Journal& journal, const Runtime& runtime,
                                              const std::string& wanted,
                                              const std::vector<std::string>& handlers) {
  const std::string good = RunningNote(runtime.process, wanted);
  const std::string note = journal.Note(kRunning);
  if (note == good) {
    return false;
  }
  const bool other_process =
      !note.starts_with(format("{} {} ", runtime.process.pid, runtime.process.start_time));
  if (other_process && HasHandlers(handlers)) {
    // Started since, by others: it has read our files, for it has what they say.
    TRY(journal.SetNote(kRunning, good));
    return false;
  }
  TRY(journal.SetNote(kRunning, RunningNote(runtime.process, "") + " pending"));
  if (options_.restart_mode == "none") {
    log::Warning("containerd has to be restarted for its new configuration; restart mode is none");
    return false;
  }
  TRY(Restart(runtime));
  TRY_ASSIGN(const host::ProcessId now, WaitForAnswer(runtime.process, handlers));
  TRY(journal.SetNote(kRunning, RunningNote(now, wanted)));
  return true;
}

// The systemd unit that runs it, from its cgroup; empty without systemd.
std::string ContainerdSetup::SystemdUnit(const Runtime& runtime) const {
  if (host::Inspect(Here("/run/systemd/system"))->kind != host::FileKind::kDirectory) {
    return "";
  }
  const std::string cgroups = ReadFile(format("/proc/{}/cgroup", runtime.process.pid)).value_or("");
  for (const std::string& line : Split(cgroups, '\n')) {
    const std::string name = BaseName(line);
    if (name.ends_with(".service")) {
      return name;
    }
  }
  return "";
}

Status ContainerdSetup::Restart(const Runtime& runtime) const {
  std::string unit = options_.restart_mode == "signal" ? "" : SystemdUnit(runtime);
  if (unit.empty() && options_.restart_mode == "systemd") {
    unit = "containerd.service";
  }
  if (unit.empty()) {
    log::Info("restarting containerd (process {}) by SIGHUP", runtime.process.pid);
    return host::SendSignal(runtime.process, SIGHUP);
  }
  log::Info("restarting {}", unit);
  for (const char* systemctl : {"/usr/bin/systemctl", "/bin/systemctl"}) {
    const auto done = host::RunProgram(
        {{systemctl, "restart", "--no-block", unit}, options_.host_root, seconds(5)});
    if (!done && done.error().kind == ErrorKind::kNotFound) {
      continue;
    }
    if (!done) {
      return std::unexpected(done.error());
    }
    return done->exit_status == 0
               ? Status{}
               : Fail(ErrorKind::kInternal, format("restart {}: {}", unit, Trim(done->errors)));
  }
  return Fail(ErrorKind::kNotFound, "restart containerd: there is no systemctl on the host");
}

bool ContainerdSetup::HasHandlers(const std::vector<std::string>& handlers) const {
  const auto status = container::AskCriStatus(Here(options_.socket), seconds(2));
  return status && std::ranges::all_of(handlers, [&](const std::string& handler) {
           return std::ranges::find(status->handlers, handler) != status->handlers.end();
         });
}

// Until another process serves the socket, is ready and has the handlers.
Result<host::ProcessId> ContainerdSetup::WaitForAnswer(
    const host::ProcessId& before, const std::vector<std::string>& handlers) const {
  const auto deadline = steady_clock::now() + kAnswerWithin;
  TRY_ASSIGN(host::Watcher watcher, host::Watcher::Create());
  TRY(watcher.Add(Here(options_.socket), host::Watcher::For::kExistence));
  std::string seen = "nobody serves its socket";
  while (steady_clock::now() < deadline) {
    const auto peer = host::SocketPeer(Here(options_.socket));
    if (peer && *peer != before) {
      const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
      const auto status = container::AskCriStatus(Here(options_.socket), left);
      const bool complete =
          status && status->ready &&
          (status->handlers.empty() ||
           std::ranges::all_of(handlers, [&](const std::string& handler) {
             return std::ranges::find(status->handlers, handler) != status->handlers.end();
           }));
      if (complete) {
        return *peer;
      }
      seen = !status          ? status.error().message
             : !status->ready ? "it says that it is not ready"
                              : "it has not all of " + Join(handlers, ", ");
    } else if (peer) {
      seen = "it was not restarted";
    }
    watcher.Next(-1, std::min(deadline, steady_clock::now() + kAskAgain));
  }
  return Fail(ErrorKind::kTimeout,
              format("wait for containerd: {} after {} s", seen, kAnswerWithin.count()));
}

Result<ContainerdSetup::Outcome> ContainerdSetup::Remove(host::Journal& journal) {
  Outcome outcome;
  const auto runtime = FindRuntime();
  std::string before;
  if (runtime) {
    drop_in_path_ = DropInPath(*runtime);
    const auto files = ReadFiles(*runtime);
    const auto dump = Dump(*runtime, files && files->wish.root_text ? runtime->config_path : "");
    before = dump ? container::EffectiveConfig(*dump).value_or("") : "";
  } else {
    log::Warning("containerd is not restarted: {}", runtime.error().message);
    drop_in_path_ = options_.drop_in_config.empty()
                        ? JoinPath(ParentOf(kDefaultConfig), kDropInBelow)
                        : options_.drop_in_config;
  }
  TRY_ASSIGN(outcome.changed, journal.UndoAll([&](const std::string&, const std::string& text) {
    return container::WithoutOurPart(text, drop_in_path_);
  }));
  if (!runtime) {
    return outcome;
  }
  TRY_ASSIGN(const Files files, ReadFiles(*runtime));
  TRY_ASSIGN(const std::string dump,
             Dump(*runtime, files.wish.root_text ? runtime->config_path : ""));
  TRY_ASSIGN(const std::string after, container::EffectiveConfig(dump));
  if (after != before && options_.restart_mode != "none") {
    TRY(Restart(*runtime));
    TRY(WaitForAnswer(runtime->process, {}));
    outcome.restarted = true;
  }
  return outcome;
}

std::vector<std::string> ContainerdSetup::PathsToWatch() const { return watched_; }

}  // namespace gantry::container_toolkit
