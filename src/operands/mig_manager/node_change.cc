// SPDX-License-Identifier: Apache-2.0
// Does this node have the layout that it is to have, and may it be changed now? Who is asked: the
// driver, for the GPUs and their processes, and the kubelet, for the pods that hold them.
#include "operands/mig_manager/node_change.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "gpu/gpu.h"
#include "gpu/open_nvml.h"
#include "gpu/owners_file.h"
#include "gpu/pod_gpus.h"
#include "gpu/pod_list.h"
#include "host/pods_of_node.h"
#include "nvml/mig_control.h"
#include "operands/mig_manager/change.h"
#include "operands/mig_manager/config.h"
#include "operands/mig_manager/config_text.h"
#include "operands/mig_manager/journal.h"
#include "operands/mig_manager/reset.h"
#include "operands/mig_manager/users.h"
#include "operands/mig_manager/withdraw.h"
#include "operands/mig_manager/withdrawal.h"

namespace gantry::mig_manager {
namespace {

constexpr std::chrono::seconds kKubeletAnswers(5);
// Of nvidia-mig-parted, or of a manager that was killed while its child acts.
constexpr std::chrono::seconds kOtherChangeEnds(60);

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

bool IsInPod(unsigned pid) {
  const auto cgroup = ReadFile(format("/proc/{}/cgroup", pid));
  return cgroup.has_value() && !host::PodUidOf(*cgroup).empty();
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
      users.push_back({.part = part, .pod = format("{}/{}", holder.ns, holder.pod)});
    }
  }
  return {};
}

Status AddProcesses(const nvml::MigControl& control, const std::vector<nvml::MigGpu>& gpus,
                    std::vector<User>& users) {
  for (const nvml::MigGpu& gpu : gpus) {
    TRY_ASSIGN(const auto processes, control.Processes(gpu.index));
    for (const nvml::GpuProcess& process : processes) {
      users.push_back({.part = {.uuid = gpu.uuid, .gpu_instance = process.gpu_instance},
                       .process = ProcessName(process.pid),
                       .in_pod = IsInPod(process.pid)});
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

struct Judged {
  NodeAnswer answer;
  std::vector<Target> targets;
  std::vector<gpu::MigPlan> plans;
};

// What is to be done. The kubelet is asked only if something differs.
Result<Judged> Judge(const NodeQuestion& question, const nvml::Library& library,
                     const nvml::MigControl& control) {
  TRY_ASSIGN(const auto gpus, control.Read());
  TRY_ASSIGN(const Config config, ConfigFor(question, gpus));
  TRY_ASSIGN(const auto layouts, LayoutsFor(config, question.layout, gpus));
  Judged judged{.answer = {}, .targets = TargetsOf(gpus, layouts), .plans = {}};
  TRY_ASSIGN(judged.plans, PlanAll(judged.targets, gpus));
  if (AllAsWanted(judged.plans)) {
    return judged;
  }
  std::vector<User> users;
  TRY(AddPods(question, library, users));
  TRY(AddProcesses(control, gpus, users));
  for (Target& target : judged.targets) {
    target.held = HeldInstances(users, target.uuid);
  }
  TRY_ASSIGN(judged.plans, PlanAll(judged.targets, gpus));
  const std::vector<Blocker> blockers = Blockers(users, judged.targets, judged.plans);
  judged.answer.state = blockers.empty() ? NodeAnswer::State::kDiffers : NodeAnswer::State::kHeld;
  std::ranges::transform(blockers, std::back_inserter(judged.answer.blockers), BlockerText);
  judged.answer.holders = HoldersOf(blockers, question.layout);
  return judged;
}

gpu::Owners WithdrawnWhileWaiting(const NodeQuestion& question, const Judged& judged) {
  return WithdrawnUntilFree(judged.targets, judged.plans, question.layout);
}

// A change by the manager, with all that it needs; one at a time on a node.
class NodeChange {
 public:
  static Result<NodeChange> Begin(const NodeQuestion& question) {
    NodeChange begun(question);
    TRY_ASSIGN(begun.lock_, begun.journal_.Lock(kOtherChangeEnds));
    TRY_ASSIGN(const auto before, begun.journal_.Before());
    begun.cut_off_ = before.has_value();
    TRY_ASSIGN(begun.library_, OpenLibrary(question));
    return begun;
  }

  Result<NodeAnswer> Make();
  Status TakeBack();

 private:
  explicit NodeChange(const NodeQuestion& question)
      : question_(question), journal_(question.journal), owners_(question.status_dir, kOwner) {}

  Result<NodeAnswer> Decide(const nvml::MigControl& control, Change& change);
  Status Withdraw(const nvml::MigControl& control, const Judged& judged);
  Status Leave(Judged& judged);
  Status End(const nvml::MigControl& control, Change& change, Status outcome);

  const NodeQuestion& question_;
  Journal journal_;
  gpu::OwnersWriter owners_;
  Fd lock_;
  bool cut_off_ = false;  // an earlier change, which this one ends
  std::unique_ptr<nvml::Library> library_;
};

Status NodeChange::Withdraw(const nvml::MigControl& control, const Judged& judged) {
  if (!cut_off_) {
    return owners_.Take(WithdrawnFor(judged.targets, judged.plans, question_.layout),
                        kReadersLetGo);
  }
  TRY_ASSIGN(const auto gpus, control.Read());
  return owners_.Take(AllWithdrawn(gpus), kReadersLetGo);
}

// Pods that came until the GPUs were withdrawn count too.
Result<NodeAnswer> NodeChange::Decide(const nvml::MigControl& control, Change& change) {
  TRY_ASSIGN(Judged judged, Judge(question_, *library_, control));
  if (judged.answer.state == NodeAnswer::State::kDiffers) {
    TRY(Withdraw(control, judged));
    TRY_ASSIGN(judged, Judge(question_, *library_, control));
  }
  if (judged.answer.state == NodeAnswer::State::kHeld) {
    TRY(Leave(judged));
    return judged.answer;
  }
  TRY(change.To(judged.targets));
  return NodeAnswer{};
}

// Nothing changes, because somebody uses the GPUs.
Status NodeChange::Leave(Judged& judged) {
  judged.answer.holders.withdrawn = question_.waits && !cut_off_;
  return judged.answer.holders.withdrawn
             ? owners_.Take(WithdrawnWhileWaiting(question_, judged), kReadersLetGo)
             : GiveBackAfter(journal_, owners_);
}

Result<NodeAnswer> NodeChange::Make() {
  const nvml::MigControl control(*library_);
  Change change(control, journal_, ResetBelow(question_.driver_root));
  auto answer = Decide(control, change);
  if (answer.has_value() && answer->state == NodeAnswer::State::kHeld) {
    return answer;
  }
  TRY(End(control, change, answer.has_value() ? Status() : std::unexpected(answer.error())));
  return answer;
}

// What is taken back of an earlier change may be on any GPU.
Status NodeChange::End(const nvml::MigControl& control, Change& change, Status outcome) {
  if (!outcome.has_value() && cut_off_) {
    TRY_ASSIGN(const auto gpus, control.Read());
    TRY(owners_.Take(AllWithdrawn(gpus), kReadersLetGo));
  }
  Status ended = change.End(std::move(outcome));
  TRY(GiveBackAfter(journal_, owners_));
  return ended;
}

Status NodeChange::TakeBack() {
  const nvml::MigControl control(*library_);
  Change change(control, journal_, ResetBelow(question_.driver_root));
  const Status ended =
      End(control, change,
          Fail(ErrorKind::kInvalid, "no layout is wanted for a change that was cut off"));
  TRY_ASSIGN(const auto left, journal_.Before());
  return left.has_value() ? ended : Status();
}

// What an earlier change left: its journal, or only GPUs that it has withdrawn.
struct Left {
  bool journal = false;
  gpu::Owners owned;
};

Result<Left> LeftOnNode(const NodeQuestion& question) {
  TRY_ASSIGN(const auto before, Journal(question.journal).Before());
  TRY_ASSIGN(gpu::Owners owned, gpu::OwnersWriter(question.status_dir, kOwner).Owned());
  return Left{.journal = before.has_value(), .owned = std::move(owned)};
}

// Whether the GPUs of a change that is held are withdrawn as the question asks.
void SettleHeld(const NodeQuestion& question, const Left& left, Judged& judged) {
  gpu::Owners wanted;
  if (question.waits) {
    wanted = WithdrawnWhileWaiting(question, judged);
    for (auto& [uuid, owner] : wanted) {
      owner.program = kOwner;
    }
  }
  judged.answer.unsettled = !left.journal && left.owned != wanted;
  judged.answer.holders.withdrawn = question.waits && left.owned == wanted;
}

constexpr char kStateKey[] = "state";
constexpr char kBlockersKey[] = "blockers";
constexpr char kHoldersKey[] = "holders";
constexpr char kUnsettledKey[] = "unsettled";

}  // namespace

std::string NodeAnswerText(const NodeAnswer& answer) {
  return Json{{kStateKey, static_cast<int>(answer.state)},
              {kBlockersKey, answer.blockers},
              {kHoldersKey, policy::FormatMigHolders(answer.holders)},
              {kUnsettledKey, answer.unsettled}}
      .dump();
}

Result<NodeAnswer> ParseNodeAnswer(const std::string& text) {
  TRY_ASSIGN(const Json json, ParseJson(text));
  return NodeAnswer{
      .state = static_cast<NodeAnswer::State>(IntAt(json, kStateKey, 0)),
      .blockers = TextsAt(json, kBlockersKey),
      .holders = policy::ParseMigHolders(TextAt(json, kHoldersKey)).value_or(policy::MigHolders()),
      .unsettled = BoolAt(json, kUnsettledKey, false)};
}

Result<NodeAnswer> LookAtNode(const NodeQuestion& question, bool act) {
  if (act) {
    TRY_ASSIGN(NodeChange change, NodeChange::Begin(question));
    return change.Make();
  }
  TRY_ASSIGN(const auto library, OpenLibrary(question));
  TRY_ASSIGN(Judged judged, Judge(question, *library, nvml::MigControl(*library)));
  TRY_ASSIGN(const Left left, LeftOnNode(question));
  if (judged.answer.state == NodeAnswer::State::kHeld) {
    SettleHeld(question, left, judged);
  } else if (left.journal || !left.owned.empty()) {
    judged.answer.state = NodeAnswer::State::kDiffers;
  }
  return judged.answer;
}

Status TakeBackOnNode(const NodeQuestion& question) {
  TRY_ASSIGN(const Left left, LeftOnNode(question));
  if (!left.journal && left.owned.empty()) {
    return {};
  }
  TRY_ASSIGN(NodeChange change, NodeChange::Begin(question));
  return change.TakeBack();
}

}  // namespace gantry::mig_manager
