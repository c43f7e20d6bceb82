// SPDX-License-Identifier: Apache-2.0
// When are the GPUs of this node divided anew? When the Node's label nvidia.com/mig.config changes,
// the driver becomes ready, the file of layouts changes, or the last one has ended who was in the
// way. What came of it is in nvidia.com/mig.config.state, by a NodeFeature, and in an event. A GPU
// that somebody uses is never changed: what happens to them the operator decides, and its
// annotation of the Node says whether the change waits.
#include "operands/mig_manager/mig_manager.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "agent/feature_publisher.h"
#include "agent/flags.h"
#include "agent/loop.h"
#include "agent/own_node.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/child_call.h"
#include "host/signals.h"
#include "host/status_files.h"
#include "host/watch.h"
#include "kube/client.h"
#include "operands/mig_manager/flags.h"
#include "operands/mig_manager/node_change.h"
#include "policy/mig_holders.h"
#include "policy/names.h"
#include "policy/node_feature.h"

namespace gantry::mig_manager {
namespace {

constexpr std::chrono::seconds kLookLimit(60);
constexpr std::chrono::minutes kChangeLimit(5);
// The kubelet does not say when a pod has ended.
constexpr std::chrono::seconds kHeldRecheck(2);

constexpr char kPending[] = "pending";
constexpr char kSuccess[] = "success";

class Manager {
 public:
  Manager(Flags flags, host::Signals& signals, host::Watcher watcher)
      : flags_(std::move(flags)),
        loop_({.failure = "the MIG layout stays as it is", .absence = log::Level::kInfo}, signals,
              std::move(watcher)),
        publisher_({.node = flags_.node_name,
                    .ns = flags_.ns,
                    .component = kProgram,
                    .kubeconfig = flags_.kubeconfig}),
        own_node_(
            {.name = flags_.node_name, .component = kProgram, .kubeconfig = flags_.kubeconfig}) {}

  int Run();

 private:
  Status Watch();
  Status Look();
  Result<NodeQuestion> Question(const std::string& layout) const;
  Status Held(const NodeQuestion& question, const NodeAnswer& answer);
  Result<NodeAnswer> Ask(const NodeQuestion& question, bool act);
  Status Divide(const NodeQuestion& question);
  Status Failed(const std::string& layout, const Error& error);
  Status Say(const char* state, const std::string& message);
  void Tell(const std::string& reason, const std::string& message, bool good);

  const Flags flags_;
  agent::Loop loop_;
  agent::FeaturePublisher publisher_;
  agent::OwnNode own_node_;
  host::ChildCall child_{"divide the GPUs"};
  std::array<std::string, 3> said_;  // the state, message and holders that were published last
  std::string told_;                 // the message of the last event
  std::optional<policy::MigHolders> holders_;  // that are in the way, as far as is known
};

Status Manager::Watch() {
  if (flags_.WaitsFor(names::kDriverReady)) {
    TRY(loop_.watcher().Add(JoinPath(flags_.status_dir, names::kDriverReady)));
  }
  for (const std::string& path : {flags_.config_file, flags_.default_config_file}) {
    if (!path.empty()) {
      TRY(loop_.watcher().Add(path));
    }
  }
  return own_node_.WatchLabel(names::kMigConfig, names::kMigHoldersStep);
}

Result<NodeQuestion> Manager::Question(const std::string& layout) const {
  NodeQuestion question{.layout = layout,
                        .config_file = flags_.config_file,
                        .default_config_file = flags_.default_config_file,
                        .driver_root = flags_.driver_root,
                        .dev_root = flags_.dev_root,
                        .pod_resources = flags_.pod_resources,
                        .journal = flags_.journal,
                        .status_dir = flags_.status_dir};
  const auto step = policy::ParseMigHoldersStep(own_node_.Annotation());
  question.waits = step.has_value() && step->layout == layout && step->waits();
  if (!flags_.WaitsFor(names::kDriverReady)) {
    return question;
  }
  TRY_ASSIGN(const auto files, host::StatusFiles::Open(flags_.status_dir));
  TRY_ASSIGN(host::StatusValues ready, files.Read(names::kDriverReady));
  if (question.driver_root.empty()) {
    question.driver_root = ready["DRIVER_ROOT_CTR_PATH"];
  }
  if (question.dev_root.empty()) {
    question.dev_root = ready["DEV_ROOT_CTR_PATH"];
  }
  return question;
}

// A change is not given up because this program is to end: it takes less time than its end may.
Result<NodeAnswer> Manager::Ask(const NodeQuestion& question, bool act) {
  const auto ask = [&]() -> Result<std::string> {
    TRY_ASSIGN(const NodeAnswer answer, LookAtNode(question, act));
    return NodeAnswerText(answer);
  };
  const auto limit = act ? std::chrono::milliseconds(kChangeLimit) : kLookLimit;
  TRY_ASSIGN(const std::string text, child_.Run(ask, limit, act ? -1 : loop_.stop_fd()));
  return ParseNodeAnswer(text);
}

Status Manager::Say(const char* state, const std::string& message) {
  const std::array<std::string, 3> say = {
      state, message, holders_.has_value() ? policy::FormatMigHolders(*holders_) : ""};
  if (said_ == say && !loop_.VerifyIsDue()) {
    return {};
  }
  const auto publish = [&](kube::Client& client) {
    return publisher_.Store(client, names::kMigFeature + publisher_.node(), [&](const Json*) {
      policy::NodeFeature wanted;
      wanted.labels = {{names::kMigConfigState, state}};
      wanted.annotations = {{names::kMigMessage, message}, {names::kMigHolders, say[2]}};
      return wanted;
    });
  };
  TRY(publisher_.Connected(publish));
  said_ = say;
  loop_.Verified();
  return {};
}

void Manager::Tell(const std::string& reason, const std::string& message, bool good) {
  if (std::exchange(told_, message) == message) {
    return;
  }
  if (good) {
    own_node_.Normal(reason, message);
  } else {
    own_node_.Warning(reason, message);
  }
}

// Holders stay known while the question cannot be answered; without a layout that can be made there
// is nothing to wait for.
Status Manager::Failed(const std::string& layout, const Error& error) {
  if (error.kind != ErrorKind::kTimeout && error.kind != ErrorKind::kUnavailable) {
    holders_.reset();
  }
  const std::string message = format("{}: {}", layout, error.message);
  Tell("MigConfigFailed", message, false);
  TRY(Say(names::kMigFailed, message));
  return std::unexpected(error);
}

// The operator decides about the holders (policy/mig_holders.h), and tells of it if the change
// waits for them.
Status Manager::Held(const NodeQuestion& question, const NodeAnswer& answer) {
  holders_ = answer.holders;
  const std::string message = format("{}: in use, and nothing is changed: {}", question.layout,
                                     Join(answer.blockers, "; "));
  if (question.waits) {
    return Say(kPending, message);
  }
  if (told_ != message) {
    log::Warning("{}", message);
  }
  Tell("MigConfigHeld", message, false);
  return Say(names::kMigFailed, message);
}

Status Manager::Divide(const NodeQuestion& question) {
  auto answer = Ask(question, false);
  if (answer.has_value() && answer->state == NodeAnswer::State::kDiffers) {
    const std::string message = format("the MIG layout changes to {}", question.layout);
    log::Info("{}", message);
    holders_.reset();
    TRY(Say(kPending, message));
    answer = Ask(question, true);
  } else if (!answer.has_value() || answer->unsettled) {
    // What an earlier change has left is taken back.
    answer = Ask(question, true);
  }
  if (!answer.has_value()) {
    // Without a driver nothing has failed yet.
    return answer.error().kind == ErrorKind::kNotFound ? std::unexpected(answer.error())
                                                       : Failed(question.layout, answer.error());
  }
  if (answer->state == NodeAnswer::State::kHeld) {
    return Held(question, *answer);
  }
  holders_.reset();
  const std::string message = format("the MIG layout is {}", question.layout);
  Tell("MigConfigApplied", message, true);
  return Say(kSuccess, message);
}

Status Manager::Look() {
  TRY_ASSIGN(const std::optional<std::string> layout, own_node_.TakeLabel());
  if (holders_.has_value() && holders_->layout != layout) {
    holders_.reset();
  }
  TRY_ASSIGN(const NodeQuestion question, Question(layout.value_or("")));
  if (!layout.has_value() || layout->empty()) {
    const auto take_back = [&]() -> Result<std::string> {
      TRY(TakeBackOnNode(question));
      return "";
    };
    TRY(child_.Run(take_back, kChangeLimit, -1));
    return {};
  }
  return Divide(question);
}

int Manager::Run() {
  if (!flags_.ignored.empty()) {
    log::Info("set, and without effect here: {}", Join(flags_.ignored, ", "));
  }
  if (const Status watching = Watch(); !watching.has_value()) {
    log::Error("{}", watching.error().message);
    return 1;
  }
  const auto next = [this](const Status& /*looked*/) {
    const SteadyTime now = RealClock().Now();
    return holders_.has_value() ? now + kHeldRecheck : now + loop_.verify_after();
  };
  return loop_.Run([this] { return Look(); }, next, {.fd = own_node_.label_fd()},
                   [] { return false; });
}

int RunManager(Flags flags) {
  host::Signals signals;
  Result<host::Watcher> watcher = host::Watcher::Create();
  if (!watcher.has_value()) {
    log::Error("{}", watcher.error().message);
    return 1;
  }
  return Manager(std::move(flags), signals, *std::move(watcher)).Run();
}

}  // namespace

int RunMigManager(int argc, char** argv) {
  return agent::RunWith(kProgram, ParseFlags(argc, argv), RunManager);
}

}  // namespace gantry::mig_manager
