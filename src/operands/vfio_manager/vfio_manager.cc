// SPDX-License-Identifier: Apache-2.0
// When are GPUs bound for virtual machines, and when are they given back? They are bound at the
// start, after each event of a PCI device, and again after a while if something was in the way. A
// manager that ends leaves them, unless its node is not for passthrough any more.
#include "operands/vfio_manager/vfio_manager.h"

#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "agent/flags.h"
#include "agent/loop.h"
#include "agent/own_node.h"
#include "agent/pause.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/child_call.h"
#include "host/signals.h"
#include "host/status_files.h"
#include "host/uevents.h"
#include "host/watch.h"
#include "kube/client.h"
#include "kube/config.h"
#include "operands/vfio_manager/change.h"
#include "operands/vfio_manager/flags.h"
#include "operands/vfio_manager/kernel.h"
#include "operands/vfio_manager/withdrawal.h"
#include "policy/names.h"

namespace gantry::vfio_manager {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// One group: a driver may take seconds to let go of each function.
constexpr seconds kChangeLimit(60);
constexpr seconds kApiLimit(30);
// procfs does not say when a process has ended.
constexpr seconds kHeldRecheck(2);
constexpr seconds kRecheck(60);
// How long after a look the label is asked for again, while the GPUs are given back.
constexpr seconds kAskAgain(20);
constexpr milliseconds kSettle(200);

// Whether something is in the way that may end without an event of the kernel.
bool AnyPassing(const Pass& pass) {
  for (const Problem& problem : pass.problems) {
    if (problem.refusal.passing) {
      return true;
    }
  }
  return false;
}

// Changes bindings in a child process: a write to a device in use blocks until it is closed, and
// then even a killed process stays.
class Changes {
 public:
  explicit Changes(const Flags& flags)
      : flags_(flags), kernel_(RunningKernel(flags.places.host_root)) {}

  Result<Pass> Bind() {
    return All([&](const Tried& tried) {
      return BindOne(flags_.places, *kernel_, flags_.selection, tried);
    });
  }
  // Only what the journal names, unless devices were selected.
  Result<Pass> Restore(const std::optional<Selection>& selection) {
    return All(
        [&](const Tried& tried) { return RestoreOne(flags_.places, *kernel_, selection, tried); });
  }

 private:
  template <typename One>
  Result<Pass> All(const One& one) {
    return AllPasses([&](const Tried& tried) -> Result<Pass> {
      const auto call = [&]() -> Result<std::string> {
        TRY_ASSIGN(const Pass pass, one(tried));
        return PassText(pass);
      };
      // A change is not given up because this program is to end.
      TRY_ASSIGN(const std::string text, child_.Run(call, kChangeLimit, -1));
      return ParsePass(text);
    });
  }

  const Flags& flags_;
  const std::unique_ptr<Kernel> kernel_;
  host::ChildCall child_{"change the drivers of GPUs"};
};

class Manager {
 public:
  Manager(const Flags& flags, host::Signals& signals, host::Watcher watcher)
      : flags_(flags),
        changes_(flags),
        loop_({.failure = "GPUs are not bound", .settle = kSettle}, signals, std::move(watcher)) {}

  int Run();

 private:
  Status Look();
  Status Say(const Pass& pass);
  void Tell(const std::string& reason, const std::string& message, bool good);
  Status ForgetFailure();
  bool Withdrawn();
  void GiveBack();

  const Flags& flags_;
  Changes changes_;
  agent::Loop loop_;
  std::optional<host::Uevents> uevents_;
  host::ChildCall api_{"reach the API server"};
  std::string told_;  // the message of the last event
  bool held_ = false;
  bool well_ = false;
};

// In a child, whose TLS is freed with it.
void Manager::Tell(const std::string& reason, const std::string& message, bool good) {
  if (std::exchange(told_, message) == message) {
    return;
  }
  log::Write(good ? log::Level::kInfo : log::Level::kWarning, message);
  if (flags_.node_name.empty()) {
    return;
  }
  const auto write = [&]() -> Result<std::string> {
    agent::OwnNode node(
        {.name = flags_.node_name, .component = kProgram, .kubeconfig = flags_.kubeconfig});
    if (good) {
      node.Normal(reason, message);
    } else {
      node.Warning(reason, message);
    }
    return "";
  };
  if (const auto written = api_.Run(write, kApiLimit, loop_.stop_fd()); !written.has_value()) {
    log::Warning("write an event: {}", written.error().message);
  }
}

Status Manager::Say(const Pass& pass) {
  if (pass.problems.empty()) {
    TRY(ForgetFailure());
    Tell("GpusBoundForVms",
         pass.gpus.empty() ? "this node has no GPU to bind for virtual machines"
                           : format("bound for virtual machines: {}", Join(pass.gpus, ", ")),
         true);
    return {};
  }
  const std::string message = ProblemsText(pass);
  TRY_ASSIGN(const auto files, host::StatusFiles::Open(flags_.status_dir));
  TRY(files.Write(names::kVfioFailed, {{"MESSAGE", message}}, kProgram));
  Tell(pass.problems.front().refusal.reason, "not bound for virtual machines: " + message, false);
  return {};
}

Status Manager::Look() {
  held_ = false;
  well_ = false;
  auto pass = changes_.Bind();
  if (!pass.has_value()) {
    pass = Pass{.acted = {},
                .gpus = {},
                .problems = {{"GPUs", {.reason = "ChangeWaits", .message = pass.error().message}}},
                .others = {}};
  }
  held_ = AnyPassing(*pass);
  well_ = pass->problems.empty();
  return Say(*pass);
}

Status Manager::ForgetFailure() {
  TRY_ASSIGN(const auto files, host::StatusFiles::Open(flags_.status_dir));
  TRY(files.Remove(names::kVfioFailed));
  return {};
}

// A Node that can't be read keeps its GPUs bound: a virtual machine may have them.
bool Manager::Withdrawn() {
  if (flags_.node_name.empty()) {
    return false;
  }
  const auto ask = [&]() -> Result<std::string> {
    TRY_ASSIGN(auto config, kube::LoadConfig(flags_.kubeconfig));
    TRY_ASSIGN(const auto client,
               kube::Client::Create(std::move(config),
                                    {.component = kProgram, .max_idle_connections = 0}));
    TRY_ASSIGN(const Json node,
               client->Get(kube::kinds::kNode, {.ns = "", .name = flags_.node_name}));
    return IsWithdrawn(agent::LabelsOf(node)) ? "yes" : "";
  };
  const auto answer = api_.Run(ask, kApiLimit, -1);
  if (!answer.has_value()) {
    log::Warning("the GPUs stay bound: {}", answer.error().message);
  }
  return answer.has_value() && !answer->empty();
}

// Until all are given back, the kubelet's patience ends, or the node is for passthrough again.
void Manager::GiveBack() {
  SteadyTime ask_at = RealClock().Now() + kAskAgain;
  while (true) {
    auto pass = changes_.Restore(std::nullopt);
    if (pass.has_value() && pass->problems.empty()) {
      if (const Status forgotten = ForgetFailure(); !forgotten.has_value()) {
        log::Warning("{}", forgotten.error().message);
      }
      Tell("GpusGivenBack", "the node is not for passthrough: its GPUs have their earlier drivers",
           true);
      return;
    }
    Tell("GpusNotGivenBack",
         format("the node is not for passthrough, and its GPUs still have their drivers for "
                "virtual machines: {}",
                pass.has_value() ? ProblemsText(*pass) : pass.error().message),
         false);
    host::WaitReadable({}, RealClock().Now() + kHeldRecheck);
    if (RealClock().Now() >= ask_at) {
      if (!Withdrawn()) {
        return;
      }
      ask_at = RealClock().Now() + kAskAgain;
    }
  }
}

int Manager::Run() {
  if (auto uevents = host::Uevents::Open(); uevents.has_value()) {
    uevents_ = *std::move(uevents);
  } else {
    log::Warning("{}; GPUs are looked for every {} s", uevents.error().message, kRecheck.count());
  }
  const auto next = [this](const Status& looked) {
    const SteadyTime now = RealClock().Now();
    if (held_) {
      return now + kHeldRecheck;
    }
    const bool waits = well_ && uevents_.has_value() && looked.has_value();
    return now + (waits ? loop_.verify_after() : kRecheck);
  };
  const int ended =
      loop_.Run([this] { return Look(); }, next,
                {.fd = uevents_.has_value() ? uevents_->fd() : -1,
                 .happened = [this] { return uevents_.has_value() && uevents_->TakeDevices(); }},
                [] { return false; });
  if (Withdrawn()) {
    GiveBack();
  }
  return ended;
}

int Manage(const Flags& flags) {
  host::Signals signals;
  Result<host::Watcher> watcher = host::Watcher::Create();
  if (!watcher.has_value()) {
    log::Error("{}", watcher.error().message);
    return 1;
  }
  return Manager(flags, signals, *std::move(watcher)).Run();
}

int Once(const Flags& flags) {
  const std::string& address = flags.selection.address;
  const std::string folder = JoinPath(flags.places.sys, "bus/pci/devices/" + address);
  if (!address.empty() && access(folder.c_str(), F_OK) != 0) {
    log::Error("{}: no such PCI device", address);
    return 1;
  }
  Changes changes(flags);
  const auto pass = flags.word == Word::kBind     ? changes.Bind()
                    : flags.word == Word::kUnbind ? changes.Restore(flags.selection)
                                                  : changes.Restore(std::nullopt);
  if (!pass.has_value()) {
    log::Error("{}", pass.error().message);
    return 1;
  }
  for (const Problem& problem : pass->problems) {
    log::Error("{}: {}", problem.name, problem.refusal.message);
  }
  if (flags.word == Word::kBind) {
    log::Info("bound for virtual machines: {}",
              pass->gpus.empty() ? "none" : Join(pass->gpus, ", "));
  }
  return pass->problems.empty() ? 0 : 1;
}

int Run(const Flags& flags) { return flags.word == Word::kManage ? Manage(flags) : Once(flags); }

}  // namespace

int RunVfioManage(int argc, char** argv) {
  return agent::RunWith(kProgram, ParseFlags(argc, argv), Run);
}

}  // namespace gantry::vfio_manager
