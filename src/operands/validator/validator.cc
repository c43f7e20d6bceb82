// SPDX-License-Identifier: Apache-2.0
// Is this node's GPU stack whole, and what is missing? One thread waits for files, children, timers
// and signals; each stage is looked at again when something it stands on changed. What may hang is
// asked by children (probe.h). procfs tells no changes, so the driver is looked at again by a
// timer.
#include "operands/validator/validator.h"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/driver_root.h"
#include "host/files.h"
#include "host/kernel_modules.h"
#include "host/signals.h"
#include "host/watch.h"
#include "operands/validator/flags.h"
#include "operands/validator/probe.h"
#include "operands/validator/toolkit_files.h"
#include "operands/validator/verdict.h"
#include "policy/names.h"

namespace gantry::validator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kOwner[] = "nvidia-validator";
constexpr seconds kLookAgain(30);    // at the driver's and the toolkit's files
constexpr seconds kAskAgain(300);    // a driver that answered
constexpr seconds kDriverLimit(20);  // for NVML; without persistence mode a GPU takes seconds
constexpr seconds kCudaLimit(120);   // for cuInit on a machine with many GPUs
constexpr seconds kShortLimit(5);    // for a hook's --version, for the kubelet
constexpr seconds kKubeletHold(15);  // a kubelet that starts anew lists no device at first
constexpr seconds kToolkitHold(1);   // a program that is being replaced is busy for a moment
constexpr milliseconds kShortestPause(20);
constexpr seconds kLongestPause(30);

// A stage: what its status file is called, how it is looked at, and what is known of it.
struct Stage {
  std::string name;
  std::string file;
  milliseconds hold{0};
  std::function<void(Stage&)> look;                   // judges at once, or starts a probe
  std::function<void(Stage&, const Answer&)> answer;  // of the probe
  StageMemory memory;
  std::optional<Probe> probe;
  bool dirty = true;
  std::optional<SteadyTime> look_at;
  milliseconds pause{kShortestPause};  // until a failed question is asked again
  std::string asked_about;             // what the last answer is about
  std::optional<Answer> answered;
  SteadyTime answered_at{};
};

class Validator {
 public:
  Validator(Flags flags, host::StatusFiles files, host::Watcher watcher)
      : flags_(std::move(flags)), files_(std::move(files)), watcher_(std::move(watcher)) {}

  Status Prepare(const std::vector<std::string>& names);
  int Run(host::Signals& signals, bool once);

 private:
  Status AddStage(const std::string& name);
  Status AddDriver();
  Status AddToolkit();
  Status AddCuda();
  Status AddPlugin();
  Status Watch(Stage& stage, const std::string& path,
               host::Watcher::For interest = host::Watcher::For::kContent);

  void LookAtDriver(Stage& stage);
  void LookAtToolkit(Stage& stage);
  void LookAtCuda(Stage& stage);
  void LookAtPlugin(Stage& stage);

  [[nodiscard]] host::DriverVerdict Driver() const;
  [[nodiscard]] ToolkitPlaces Places() const;
  void Ask(Stage& stage, const std::string& about, const std::vector<std::string>& argv,
           milliseconds limit);
  [[nodiscard]] std::vector<std::string> ProbeCommand(const std::string& probe) const;
  [[nodiscard]] std::string Here(const std::string& host_path) const;
  void Settle(Stage& stage, const Finding& finding);
  void LookSoon(Stage& stage, milliseconds pause);
  void RetryUnless(Stage& stage, bool well);

  void Work();
  void Wait(const host::Signals& signals);
  [[nodiscard]] std::optional<int> Ended(bool once) const;

  Flags flags_;
  host::StatusFiles files_;
  host::Watcher watcher_;
  std::deque<Stage> stages_;
  std::map<std::string, std::vector<Stage*>> watched_;
  bool lost_directory_ = false;
};

// --- what every stage does -----------------------------------------------------------------------

std::string Validator::Here(const std::string& host_path) const {
  return ResolveInRoot(flags_.host_root_here, host_path)
      .value_or(JoinPath(flags_.host_root_here, host_path));
}

Status Validator::Watch(Stage& stage, const std::string& path, host::Watcher::For interest) {
  watched_[path].push_back(&stage);
  return watcher_.Add(path, interest);
}

void Validator::LookSoon(Stage& stage, milliseconds pause) {
  const SteadyTime at = std::chrono::steady_clock::now() + pause;
  stage.look_at = stage.look_at ? std::min(*stage.look_at, at) : at;
}

// A question that was not answered well is asked again, at growing distances.
void Validator::RetryUnless(Stage& stage, bool well) {
  if (well) {
    stage.pause = kShortestPause;
    return;
  }
  LookSoon(stage, stage.pause);
  stage.pause = std::min<milliseconds>(stage.pause * 2, kLongestPause);
}

void Validator::Settle(Stage& stage, const Finding& finding) {
  const Step step = Decide(stage.memory, finding, stage.hold, std::chrono::steady_clock::now());
  if (step.look_again) {
    stage.look_at = stage.look_at ? std::min(*stage.look_at, *step.look_again) : step.look_again;
  }
  Status done;
  if (step.file == Step::File::kWrite) {
    if (const auto wrote = files_.Write(stage.file, finding.values, kOwner); !wrote) {
      done = std::unexpected(wrote.error());
    }
  } else if (step.file == Step::File::kRemove) {
    if (const auto removed = files_.Remove(stage.file); !removed) {
      done = std::unexpected(removed.error());
    }
  }
  if (!done) {
    // The directory was removed on the host, and this container's mount shows its remains. Only a
    // new container gets the new one.
    lost_directory_ = done.error().kind == ErrorKind::kNotFound;
    log::Error("{}: {}", stage.name, done.error().message);
    stage.memory = {};
    LookSoon(stage, seconds(1));
    return;
  }
  if (finding.state == Finding::State::kReady && step.tell) {
    log::Info("{} ready: {}: {}", stage.name, finding.reason, finding.message);
  } else if (step.tell || step.file == Step::File::kRemove) {
    log::Warning("{} {}{}: {}: {}{}{}", stage.name,
                 finding.state == Finding::State::kSkipped ? "skipped" : "not ready",
                 step.file == Step::File::kRemove ? ", status file taken back" : "", finding.reason,
                 finding.message, finding.remedy.empty() ? "" : "; ", finding.remedy);
  }
}

void Validator::Ask(Stage& stage, const std::string& about, const std::vector<std::string>& argv,
                    milliseconds limit) {
  stage.asked_about = about;
  stage.answered.reset();
  Result<Probe> probe = Probe::Start(argv, limit);
  if (probe) {
    stage.probe = *std::move(probe);
    return;
  }
  Answer failed;
  failed.text = probe.error().message;
  stage.answer(stage, failed);
}

std::vector<std::string> Validator::ProbeCommand(const std::string& probe) const {
  return {"/proc/self/exe", kOwner, "--probe", probe};
}

// --- driver --------------------------------------------------------------------------------------

host::DriverVerdict Validator::Driver() const {
  host::DriverPlaces places = {.host_root = flags_.host_root_here,
                               .driver_dir = flags_.driver_install_dir,
                               .container_ready = files_.Read(names::kDriverCtrReady).has_value()};
  host::DriverVerdict verdict = host::JudgeDriver(host::ObserveDriver(places));
  if (verdict.kind == host::DriverKind::kHost) {
    verdict.driver_root = flags_.host_root;
    verdict.dev_root = flags_.host_root;
  } else if (verdict.kind == host::DriverKind::kContainer && verdict.dev_root == "/") {
    verdict.dev_root = flags_.host_root;
  }
  return verdict;
}

// What an answer of the driver is about: another version, place or set of files asks anew.
std::string About(const host::DriverVerdict& verdict) {
  return Join({verdict.reason, verdict.version, verdict.driver_root, verdict.tree.library}, " ");
}

void Validator::LookAtDriver(Stage& stage) {
  LookSoon(stage, kLookAgain);
  const host::DriverVerdict verdict = Driver();
  const bool usable = verdict.kind != host::DriverKind::kNone;
  const bool fresh = stage.answered && stage.asked_about == About(verdict) &&
                     std::chrono::steady_clock::now() - stage.answered_at < kAskAgain;
  if (!usable || flags_.skip_gpu_init || verdict.tree.library.empty()) {
    stage.answered.reset();
    Settle(stage, JudgeDriverStage(verdict, std::nullopt));
    return;
  }
  if (fresh && !stage.dirty) {
    Settle(stage, JudgeDriverStage(verdict, stage.answered));
    return;
  }
  const std::string root =
      verdict.kind == host::DriverKind::kHost ? flags_.host_root_here : Here(verdict.driver_root);
  std::vector<std::string> argv = ProbeCommand("nvml");
  argv.insert(argv.end(), {"--probe-library", JoinPath(root, verdict.tree.library), "--probe-root",
                           flags_.host_root_here});
  if (verdict.kind == host::DriverKind::kHost && !verdict.tree.nvidia_smi.empty()) {
    argv.insert(argv.end(), {"--probe-program", verdict.tree.nvidia_smi});
  }
  Ask(stage, About(verdict), argv, kDriverLimit);
}

Status Validator::AddDriver() {
  Stage& stage = stages_.emplace_back();
  stage.name = "driver";
  stage.file = names::kDriverReady;
  stage.look = [this](Stage& self) { LookAtDriver(self); };
  stage.answer = [this](Stage& self, const Answer& answer) {
    const host::DriverVerdict verdict = Driver();
    if (verdict.kind != host::DriverKind::kNone && About(verdict) != self.asked_about) {
      self.dirty = true;
      return;
    }
    const Finding finding = JudgeDriverStage(verdict, answer);
    const bool well = finding.state == Finding::State::kReady;
    RetryUnless(self, well);
    if (well) {
      self.answered = answer;
      self.answered_at = std::chrono::steady_clock::now();
    }
    Settle(self, finding);
  };
  host::DriverPlaces places = {.host_root = flags_.host_root_here,
                               .driver_dir = flags_.driver_install_dir};
  const std::string dev = JoinPath(flags_.host_root_here, "dev");
  for (const std::string& path : host::DriverPathsToWatch(places)) {
    TRY(Watch(stage, path,
              path == dev ? host::Watcher::For::kExistence : host::Watcher::For::kContent));
  }
  return Watch(stage, JoinPath(files_.directory(), names::kDriverCtrReady));
}

// --- container toolkit ---------------------------------------------------------------------------

ToolkitPlaces Validator::Places() const {
  return {.host_root = flags_.host_root_here,
          .toolkit_dir = JoinPath(flags_.toolkit_root, "toolkit"),
          .cdi_wanted = flags_.cdi_enabled};
}

void Validator::LookAtToolkit(Stage& stage) {
  LookSoon(stage, kLookAgain);
  ToolkitObservation seen = ObserveToolkit(Places());
  const host::FileInfo info = host::Inspect(HookHere(Places())).value_or(host::FileInfo());
  const std::string about = format("{} {}", info.modified_ns, info.size);
  if (!seen.hook_is_program || (stage.answered && stage.asked_about == about)) {
    seen.version = stage.answered;
    Settle(stage, JudgeToolkit(seen));
    return;
  }
  Ask(stage, about, {HookHere(Places()), "--version"}, kShortLimit);
}

Status Validator::AddToolkit() {
  Stage& stage = stages_.emplace_back();
  stage.name = "toolkit";
  stage.file = names::kToolkitReady;
  stage.hold = kToolkitHold;
  stage.look = [this](Stage& self) { LookAtToolkit(self); };
  stage.answer = [this](Stage& self, const Answer& answer) {
    ToolkitObservation seen = ObserveToolkit(Places());
    const bool well = answer.end == Answer::End::kSaid && answer.exit_code == 0;
    RetryUnless(self, well);
    seen.version = answer;
    if (well) {
      self.answered = answer;
    }
    Settle(self, JudgeToolkit(seen));
  };
  for (const std::string& path : ToolkitPathsToWatch(Places())) {
    TRY(Watch(stage, path));
  }
  return {};
}

// --- CUDA ----------------------------------------------------------------------------------------

void Validator::LookAtCuda(Stage& stage) {
  const Result<host::StatusValues> driver = files_.Read(names::kDriverReady);
  const host::DriverVerdict verdict = Driver();
  if (!driver || verdict.kind == host::DriverKind::kNone) {
    Settle(stage, {.state = Finding::State::kNotReady,
                   .reason = "DriverNotReady",
                   .message = "CUDA waits for the driver",
                   .remedy = "",
                   .values = {}});
    stage.answered.reset();
    return;
  }
  const Result<host::StatusValues> own = files_.Read(stage.file);
  const bool known = own && own->contains(host::kDriverVersionLine) &&
                     own->at(host::kDriverVersionLine) == verdict.version;
  if (known || (stage.answered && stage.asked_about == About(verdict))) {
    return;
  }
  const std::string root =
      verdict.kind == host::DriverKind::kHost ? flags_.host_root_here : Here(verdict.driver_root);
  const std::string library = JoinPath(ParentOf(verdict.tree.library), "libcuda.so.1");
  std::vector<std::string> argv = ProbeCommand("cuda");
  argv.insert(argv.end(),
              {"--probe-library", ResolveInRoot(root, library).value_or(JoinPath(root, library)),
               "--probe-root", flags_.host_root_here});
  Ask(stage, About(verdict), argv, kCudaLimit);
}

Status Validator::AddCuda() {
  Stage& stage = stages_.emplace_back();
  stage.name = "cuda";
  stage.file = names::kCudaReady;
  stage.look = [this](Stage& self) { LookAtCuda(self); };
  stage.answer = [this](Stage& self, const Answer& answer) {
    Settle(self, JudgeCuda(answer, Driver().version));
    self.answered = answer;
  };
  return Watch(stage, JoinPath(files_.directory(), names::kDriverReady));
}

// --- device plugin -------------------------------------------------------------------------------

void Validator::LookAtPlugin(Stage& stage) {
  std::vector<std::string> argv = ProbeCommand("plugin");
  argv.insert(argv.end(), {"--probe-socket", JoinPath(flags_.pod_resources_dir, "kubelet.sock")});
  Ask(stage, "", argv, kShortLimit);
}

Status Validator::AddPlugin() {
  Stage& stage = stages_.emplace_back();
  stage.name = "plugin";
  stage.file = names::kPluginReady;
  stage.hold = kKubeletHold;
  stage.look = [this](Stage& self) { LookAtPlugin(self); };
  stage.answer = [this](Stage& self, const Answer& answer) {
    const Finding finding = JudgePlugin(answer);
    const bool well = finding.state == Finding::State::kReady;
    RetryUnless(self, well);
    LookSoon(self, kAskAgain);
    Settle(self, finding);
  };
  // The kubelet writes its checkpoint into this folder whenever a plugin's list of devices changes
  // and whenever a pod gets one.
  TRY(Watch(stage, Here(JoinPath(flags_.kubelet_root, "device-plugins"))));
  return Watch(stage, flags_.pod_resources_dir, host::Watcher::For::kExistence);
}

// --- the loop ------------------------------------------------------------------------------------

Status Validator::AddStage(const std::string& name) {
  if (name == "driver") {
    return AddDriver();
  }
  if (name == "toolkit") {
    return AddToolkit();
  }
  if (name == "cuda") {
    return AddCuda();
  }
  if (name == "plugin") {
    return AddPlugin();
  }
  return Fail(ErrorKind::kInvalid,
              format("check {}: no such stage; there are driver, toolkit, cuda, plugin", name));
}

Status Validator::Prepare(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    TRY(AddStage(name));
  }
  for (Stage& stage : stages_) {
    stage.memory.file_there = files_.Read(stage.file).has_value();
    // Somebody else may take a status file away.
    TRY(Watch(stage, JoinPath(files_.directory(), stage.file), host::Watcher::For::kExistence));
  }
  return {};
}

void Validator::Work() {
  const SteadyTime now = std::chrono::steady_clock::now();
  for (Stage& stage : stages_) {
    if (stage.probe) {
      continue;
    }
    const bool due = stage.look_at && *stage.look_at <= now;
    if (!stage.dirty && !due) {
      continue;
    }
    stage.look_at.reset();
    stage.look(stage);
    stage.dirty = false;
  }
}

void Validator::Wait(const host::Signals& signals) {
  std::vector<int> descriptors = {signals.stop_fd(), signals.reload_fd(), watcher_.fd()};
  std::optional<SteadyTime> deadline;
  for (const Stage& stage : stages_) {
    descriptors.push_back(stage.probe ? stage.probe->fd() : -1);
    const std::optional<SteadyTime> next = stage.probe ? stage.probe->deadline() : stage.look_at;
    if (next && (!deadline || *next < *deadline)) {
      deadline = next;
    }
  }
  const std::vector<bool> readable = host::WaitReadable(descriptors, deadline);
  if (readable[2]) {
    for (const std::string& path : watcher_.Take()) {
      for (Stage* stage : watched_[path]) {
        stage->dirty = true;
        stage->pause = kShortestPause;
        if (path.ends_with(stage->file)) {
          stage->memory.file_there = files_.Read(stage->file).has_value();
        }
      }
    }
  }
  const SteadyTime now = std::chrono::steady_clock::now();
  for (size_t i = 0; i < stages_.size(); ++i) {
    Stage& stage = stages_[i];
    if (stage.probe && (readable[i + 3] || stage.probe->deadline() <= now)) {
      const Answer answer = stage.probe->Take();
      stage.probe.reset();
      stage.answer(stage, answer);
    }
  }
}

std::optional<int> Validator::Ended(bool once) const {
  if (!once) {
    return std::nullopt;
  }
  const Stage& stage = stages_.front();
  if (!stage.memory.last || stage.probe || stage.dirty) {
    return std::nullopt;
  }
  if (stage.memory.last->state == Finding::State::kReady) {
    return 0;
  }
  return flags_.with_wait ? std::nullopt : std::optional<int>(1);
}

int Validator::Run(host::Signals& signals, bool once) {
  while (true) {
    Work();
    if (const std::optional<int> code = Ended(once)) {
      return *code;
    }
    if (lost_directory_) {
      log::Error("{} was removed: ending, so that the kubelet makes it anew", files_.directory());
      return 1;
    }
    Wait(signals);
    if (signals.stop_requested()) {
      return once ? 1 : 0;
    }
    if (signals.TakeReload()) {
      for (Stage& stage : stages_) {
        stage.dirty = true;
      }
    }
  }
}

// --- one component, as NVIDIA's validator is called ----------------------------------------------

// Components that are a kernel module and nothing else.
std::optional<std::string> ModuleOf(const std::string& component) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kModules = {
      {{"nvidia-fs", "nvidia_fs"}, {"gdrcopy", "gdrdrv"}, {"nvidia-peermem", "nvidia_peermem"}}};
  for (const auto& [name, module] : kModules) {
    if (name == component) {
      return std::string(module);
    }
  }
  return std::nullopt;
}

int CheckModule(const std::string& component, const std::string& module,
                const host::StatusFiles& files) {
  const auto modules = host::LoadedModules("/proc");
  const bool loaded =
      modules && std::ranges::any_of(*modules, [&module](const host::KernelModule& each) {
        return each.name == module;
      });
  if (!loaded) {
    log::Error("{} not ready: ModuleNotLoaded: the kernel module {} is not loaded", component,
               module);
    return 1;
  }
  const auto wrote = files.Write(component + "-ready", {}, kOwner);
  if (!wrote) {
    log::Error("{}: {}", component, wrote.error().message);
  }
  return wrote ? 0 : 1;
}

Status EmptyDirectory(const host::StatusFiles& files) {
  TRY_ASSIGN(const std::vector<std::string> entries, ListDirectory(files.directory()));
  for (const std::string& name : entries) {
    TRY(host::RemoveFile(JoinPath(files.directory(), name)));
  }
  return {};
}

std::vector<std::string> StagesOf(const Flags& flags) {
  std::vector<std::string> stages = {"driver"};
  if (flags.with_toolkit) {
    stages.emplace_back("toolkit");
  }
  stages.emplace_back("cuda");
  if (flags.with_plugin) {
    stages.emplace_back("plugin");
  }
  return stages;
}

Result<int> Validate(const Flags& flags, host::Signals& signals) {
  TRY_ASSIGN(host::StatusFiles files, host::StatusFiles::Open(flags.output_dir));
  if (flags.cleanup_all) {
    TRY(EmptyDirectory(files));
  }
  const bool once = !flags.component.empty();
  if (once) {
    if (const auto module = ModuleOf(flags.component)) {
      return CheckModule(flags.component, *module, files);
    }
    TRY(files.Remove(flags.component + "-ready"));
  }
  TRY_ASSIGN(host::Watcher watcher, host::Watcher::Create());
  Validator validator(flags, std::move(files), std::move(watcher));
  TRY(validator.Prepare(once ? std::vector<std::string>{flags.component} : StagesOf(flags)));
  return validator.Run(signals, once);
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
  const Result<int> code = Validate(flags, signals);
  if (!code) {
    log::Error("nvidia-validator: {}", code.error().message);
    return 1;
  }
  return *code;
}

}  // namespace gantry::validator
