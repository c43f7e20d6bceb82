// SPDX-License-Identifier: Apache-2.0
// How does the driver manager carry out its plan? It runs before the driver's container, on every
// start of its pod: step by step, and after a failed step it rolls back. The kubelet then restarts
// it.
#include "operands/driver/driver_manager/driver_manager.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>

#include "agent/flags.h"
#include "agent/pause.h"
#include "agent/pods.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/driver_root.h"
#include "host/files.h"
#include "host/processes.h"
#include "host/signals.h"
#include "host/watch.h"
#include "operands/driver/driver_manager/flags.h"
#include "operands/driver/driver_manager/manager_plan.h"
#include "operands/driver/driver_manager/node_cluster.h"
#include "operands/driver/gather.h"
#include "operands/driver/install.h"
#include "operands/driver/termination_log.h"
#include "policy/names.h"

namespace gantry::driver {
namespace {

using std::chrono::seconds;

constexpr char kNouveau[] = "nouveau";
constexpr seconds kOperandsLimit(300);
constexpr seconds kTakenAway(60);  // for the pod's own deletion, if the host has a driver
constexpr seconds kEvictAgain(5);  // a disruption budget sends no event when it allows it
constexpr seconds kLook(15);       // interval of checks for a stop, while pods end
constexpr seconds kSmiLimit(120);  // without persistence mode each GPU takes seconds

// The flags of install.h for a loaded driver, whichever program loaded it.
Flags AnyDriver(const ManagerFlags& flags) {
  Flags any;
  any.modules = {"nvidia"};
  any.root = flags.root;
  return any;
}

class Manager {
 public:
  Manager(const ManagerFlags& flags, NodeCluster cluster, const host::Signals& signals)
      : flags_(flags),
        driver_(AnyDriver(flags)),
        cluster_(std::move(cluster)),
        signals_(signals),
        kernel_(RunningKernel("")) {}

  Status Uninstall() {
    TRY_ASSIGN(const ManagerFacts facts, Facts());
    const ManagerPlan plan = PlanUninstall(facts);
    std::vector<Step> done;
    for (const Step step : plan.steps) {
      log::Info("{}", StepName(step));
      done.push_back(step);
      Status status = Do(step);
      if (!status && plan.drain_if_stuck && (step == Step::kEvict || step == Step::kUnload)) {
        status = DrainAndDo(step, status.error());
      }
      if (!status) {
        for (const Step back : TakeBack(done)) {
          if (const Status taken = Do(back); !taken) {
            log::Warning("{}: {}", StepName(back), taken.error().message);
          }
        }
        // Unloading logs it itself, also for the driver's container.
        return step == Step::kUnload ? status : std::unexpected(status.error().In(StepName(step)));
      }
    }
    return {};
  }

  Status Preflight() {
    TRY_ASSIGN(const ManagerFacts facts, Facts());
    log::Info("a driver of the host: {}; a loaded module: {}; nouveau: {}", facts.host_driver,
              facts.loaded, facts.nouveau);
    for (const Step step : PlanUninstall(facts).steps) {
      log::Info("uninstall_driver would: {}", StepName(step));
    }
    return {};
  }

 private:
  Result<ManagerFacts> Facts() {
    TRY_ASSIGN(const NodeCluster::NodeState node, cluster_.Node());
    const host::DriverObservation seen = host::ObserveDriver(
        {.host_root = flags_.host_root, .driver_dir = names::kDriverInstallDir});
    const bool whole = host::JudgeDriver(seen).kind == host::DriverKind::kHost;
    TRY_ASSIGN(const bool host_driver, whole ? Result<bool>(true) : Answers(seen.host));
    return ManagerFacts{
        .host_driver = host_driver,
        .loaded = IsLoaded(driver_, "nvidia"),
        .same_digest = !flags_.digest.empty() &&
                       Trim(ReadFile(StateFile(driver_)).value_or("")) == flags_.digest,
        .force_reinstall = flags_.force_reinstall,
        .may_evict = flags_.evict_gpu_pods,
        .may_drain = flags_.auto_drain,
        .nouveau = IsLoaded(driver_, kNouveau),
        .operator_upgrades = node.operator_upgrades};
  }

  // NVIDIA's own test of a driver on the host: its program loads the module and makes device nodes
  // that are not there yet. A hanging one is a driver too, so that is an error.
  [[nodiscard]] Result<bool> Answers(const host::DriverTree& tree) const {
    if (tree.nvidia_smi.empty()) {
      return false;
    }
    const auto version = host::RunProgram(
        {.words = {tree.nvidia_smi, "--query-gpu=driver_version", "--format=csv,noheader"},
         .root = flags_.host_root,
         .limit = kSmiLimit,
         .stop_fd = signals_.stop_fd()});
    if (!version && version.error().kind != ErrorKind::kNotFound) {
      return std::unexpected(version.error().In("ask the host's driver"));
    }
    return version && version->exit_status == 0 && !Trim(version->output).empty();
  }

  Status Do(Step step) {
    switch (step) {
      case Step::kMarkPreInstalled:
        return MarkPreInstalled();
      case Step::kPause:
        return ChangeLabels(agent::PausedLabels);
      case Step::kAwaitOperands:
        return AwaitOperands();
      case Step::kCordon:
        return cluster_.Cordon();
      case Step::kEvict:
        return Evict(true, flags_.pod_selector);
      case Step::kUnload:
        return Unload();
      case Step::kRemoveRoot:
        return RemoveRoot();
      case Step::kUncordon:
        return cluster_.Uncordon();
      case Step::kResume:
        return ChangeLabels(agent::ResumedLabels);
      case Step::kUnloadNouveau:
        return kernel_->Unload(kNouveau);
    }
    return {};
  }

  // Drains the entire node as far as allowed, and retries the step once.
  Status DrainAndDo(Step step, const Error& why) {
    log::Warning("{}: {}; the node is drained", StepName(step), why.message);
    std::string selector = flags_.pod_selector;
    selector += format("{}{}!=true", selector.empty() ? "" : ",", names::kDrainSkip);
    TRY(cluster_.Cordon());
    TRY(Evict(false, selector));
    return step == Step::kEvict ? Status{} : Do(step);
  }

  // The operator deletes the driver's pod, this one, when it sees the label.
  Status MarkPreInstalled() {
    TRY(cluster_.SetLabels(
        {{std::string(names::kDeployPrefix) + "driver", names::kDeployPreInstalled}}));
    const std::array<int, 1> stop = {signals_.stop_fd()};
    host::WaitReadable(stop, RealClock().Now() + kTakenAway);
    return Fail(ErrorKind::kConflict,
                "the host has a driver of its own, so none is installed in a container");
  }

  template <typename Change>
  Status ChangeLabels(const Change& change) {
    TRY_ASSIGN(const NodeCluster::NodeState node, cluster_.Node());
    return cluster_.SetLabels(change(node.labels, flags_.own_label, names::kDeployPaused));
  }

  Status AwaitOperands() {
    const SteadyTime deadline = RealClock().Now() + kOperandsLimit;
    while (true) {
      TRY_ASSIGN(NodeCluster::Pods seen, cluster_.PodsOfNode());
      std::erase_if(seen.pods, [this](const agent::NodePod& pod) {
        return !agent::MustBeGone(pod, flags_.ns);
      });
      if (seen.pods.empty()) {
        return {};
      }
      TRY(StillTime(deadline, format("{} still there", agent::PodNames(seen.pods))));
      cluster_.AwaitPodEvent(seen.version, kLook);
    }
  }

  // Pods with GPUs, or all.
  Status Evict(bool only_gpus, const std::string& selector) {
    const SteadyTime deadline =
        flags_.timeout.count() == 0 ? SteadyTime::max() : RealClock().Now() + flags_.timeout;
    std::set<std::string> evicted;  // uids
    std::string said;
    while (true) {
      TRY_ASSIGN(NodeCluster::Pods seen, cluster_.PodsOfNode(selector));
      std::erase_if(seen.pods, [only_gpus](const agent::NodePod& pod) {
        return !agent::IsEvicted(pod, only_gpus);
      });
      if (seen.pods.empty()) {
        return {};
      }
      for (const agent::NodePod& pod : seen.pods) {
        if (const auto no = agent::Objection(pod, flags_.force, flags_.delete_empty_dir)) {
          return Fail(ErrorKind::kConflict, *no);
        }
      }
      std::string refused;
      for (const agent::NodePod& pod : seen.pods) {
        if (evicted.contains(pod.uid)) {
          continue;
        }
        const Status asked = cluster_.Evict(pod);
        if (asked) {
          evicted.insert(pod.uid);
        } else if (asked.error().kind == ErrorKind::kUnavailable) {
          refused = asked.error().message;
        } else {
          return asked;
        }
      }
      const std::string now = format("{} still there{}{}", agent::PodNames(seen.pods),
                                     refused.empty() ? "" : ": ", refused);
      if (now != said) {
        log::Info("{}", now);
        said = now;
      }
      TRY(StillTime(deadline, now));
      cluster_.AwaitPodEvent(seen.version, refused.empty() ? kLook : kEvictAgain);
    }
  }

  [[nodiscard]] Status StillTime(SteadyTime deadline, const std::string& what) const {
    if (signals_.stop_requested()) {
      return Fail(ErrorKind::kUnavailable, "stopped; " + what);
    }
    if (RealClock().Now() >= deadline) {
      return Fail(ErrorKind::kTimeout, what);
    }
    return {};
  }

  Status Unload() {
    std::vector<host::PodName> names_of;
    if (const auto seen = cluster_.PodsOfNode()) {
      for (const agent::NodePod& pod : seen->pods) {
        names_of.push_back({pod.uid, pod.key.Text()});
      }
    }
    return UnloadModules(driver_, *kernel_, names_of);
  }

  Status RemoveRoot() {
    TRY(kernel_->Unbind(DriverPlace(driver_)));
    return host::RemoveFile(PidFile(driver_));
  }

  const ManagerFlags& flags_;
  const Flags driver_;
  NodeCluster cluster_;
  const host::Signals& signals_;
  const std::unique_ptr<Kernel> kernel_;
};

Status Manage(const ManagerFlags& flags, const host::Signals& signals) {
  TRY_ASSIGN(NodeCluster cluster, NodeCluster::Connect(flags));
  Manager manager(flags, std::move(cluster), signals);
  return flags.word == ManagerWord::kUninstall ? manager.Uninstall() : manager.Preflight();
}

}  // namespace

int RunDriverManager(int argc, char** argv) {
  return agent::RunWith(kManagerProgram, ParseManagerFlags(argc, argv),
                        [](const ManagerFlags& flags) {
                          const host::Signals signals;
                          if (const Status done = Manage(flags, signals); !done) {
                            log::Error("{}: {}", kManagerProgram, done.error().message);
                            WriteTerminationLog(flags.termination_log, done.error().message + "\n");
                            return 1;
                          }
                          log::Info("there is room for the driver's container");
                          return 0;
                        });
}

}  // namespace gantry::driver
