// SPDX-License-Identifier: Apache-2.0
// Does this node's driver work? Its files decide first; then a child calls NVML. Missing device
// nodes are made once, because on a node where no program has used CUDA yet /dev/nvidia-uvm does
// not exist. procfs sends no events, so a timer checks the files again.
#include <algorithm>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/device_nodes.h"
#include "host/driver_root.h"
#include "operands/validator/stage.h"
#include "policy/reasons.h"

namespace gantry::validator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kDriverLookAgain(10);
constexpr seconds kAskAgain(300);     // a driver that answered; device nodes that could not be made
constexpr seconds kDriverLimit(120);  // for NVML: without persistence mode each GPU takes seconds
constexpr seconds kNodesLimit(20);    // for nvidia-modprobe, which may load a kernel module

// What an answer of the driver is valid for: another version, location or set of files needs a new
// one.
std::string About(const host::DriverVerdict& verdict) {
  return Join({verdict.reason, verdict.version, verdict.driver_root, verdict.tree.library}, " ");
}

class Driver final : public Stage {
 public:
  explicit Driver(const Site& here)
      : Stage(
            {.name = "driver", .file = names::kDriverReady, .hold = {}, .again = kDriverLookAgain},
            here) {}

  [[nodiscard]] std::vector<WatchedPath> Paths() const override {
    const host::DriverPlaces places = {.host_root = site().flags().host_root_here,
                                       .driver_dir = site().flags().driver_install_dir};
    const std::string dev = JoinPath(places.host_root, "dev");
    std::vector<WatchedPath> paths = {
        {JoinPath(site().files().directory(), names::kDriverCtrReady)},
        {JoinPath(site().files().directory(), names::kDriverCtrFailed)}};
    for (const std::string& path : host::DriverPathsToWatch(places)) {
      paths.push_back(
          {path, path == dev ? host::Watcher::For::kExistence : host::Watcher::For::kContent});
    }
    return paths;
  }

  Look LookAt(bool changed) override {
    const host::DriverVerdict verdict = site().Driver();
    const bool usable = verdict.kind != host::DriverKind::kNone;
    if (verdict.reason == reasons::kDeviceNodeMissing.code && MayMakeNodes()) {
      asked_ = Asked::kNodes;
      tried_at_ = steady_clock::now();
      return {.finding = {}, .question = MakeNodes(verdict)};
    }
    if (usable) {
      tried_at_.reset();
      LinkNodes(verdict);
    }
    if (!usable || site().flags().skip_gpu_init || verdict.tree.library.empty()) {
      answered_.reset();
      return {.finding = JudgeDriverStage(verdict, std::nullopt), .question = {}};
    }
    const bool fresh =
        answered_ && about_ == About(verdict) && steady_clock::now() - answered_at_ < kAskAgain;
    if (fresh && !changed) {
      return {.finding = JudgeDriverStage(verdict, answered_), .question = {}};
    }
    asked_ = Asked::kDriver;
    about_ = About(verdict);
    answered_.reset();
    return {.finding = {}, .question = AskDriver(verdict)};
  }

  std::optional<Finding> Hear(const Answer& answer) override {
    const host::DriverVerdict verdict = site().Driver();
    const bool usable = verdict.kind != host::DriverKind::kNone;
    if (asked_ == Asked::kNodes) {
      if (answer.exit_code != 0) {
        log::Warning("make device nodes: {}", Trim(answer.text));
      }
      return usable ? std::nullopt : std::optional(JudgeDriverStage(verdict, std::nullopt));
    }
    if (usable && About(verdict) != about_) {
      return std::nullopt;
    }
    Finding finding = JudgeDriverStage(verdict, answer);
    if (finding.state == Finding::State::kReady) {
      answered_ = answer;
      answered_at_ = steady_clock::now();
    }
    return finding;
  }

 private:
  enum class Asked { kDriver, kNodes };

  [[nodiscard]] bool MayMakeNodes() const {
    return !tried_at_ || steady_clock::now() - *tried_at_ >= kAskAgain;
  }

  [[nodiscard]] Question MakeNodes(const host::DriverVerdict& verdict) const {
    std::vector<std::string> argv = Site::Probe("nodes");
    argv.insert(argv.end(), {"--host-root-mount", site().flags().host_root_here, "--probe-root",
                             site().DevRootHere(verdict)});
    return {std::move(argv), kNodesLimit};
  }

  [[nodiscard]] Question AskDriver(const host::DriverVerdict& verdict) const {
    std::vector<std::string> argv = Site::Probe("nvml");
    argv.insert(argv.end(),
                {"--probe-library", JoinPath(site().DriverRootHere(verdict), verdict.tree.library),
                 "--probe-root", site().DevRootHere(verdict)});
    if (verdict.kind == host::DriverKind::kHost && !verdict.tree.nvidia_smi.empty()) {
      argv.insert(argv.end(), {"--probe-program", verdict.tree.nvidia_smi});
    }
    return {std::move(argv), kDriverLimit};
  }

  void LinkNodes(const host::DriverVerdict& verdict) {
    if (site().flags().no_dev_char) {
      return;
    }
    const Status linked = host::LinkDeviceNodes(site().DevRootHere(verdict), verdict.dev_root,
                                                site().flags().dev_char_here);
    std::string said = linked ? "" : linked.error().message;
    if (said != link_error_ && !said.empty()) {
      log::Warning("{}", said);
    }
    link_error_ = std::move(said);
  }

  Asked asked_ = Asked::kDriver;
  std::string about_;  // what the last answer is valid for
  std::optional<Answer> answered_;
  SteadyTime answered_at_{};
  std::optional<SteadyTime> tried_at_;  // when missing device nodes were last made
  std::string link_error_;
};

}  // namespace

std::unique_ptr<Stage> DriverStage(const Site& site) { return std::make_unique<Driver>(site); }

}  // namespace gantry::validator
