// SPDX-License-Identifier: Apache-2.0
// Can containers get GPUs on this node? Each version of the installed program is run once, unless
// it is a script, which needs the host's shell; the other files are observed (toolkit_files.h).
// Only the toolkit can tell whether the container runtime uses them.
#include "base/paths.h"
#include "base/text.h"
#include "host/files.h"
#include "operands/validator/stage.h"
#include "operands/validator/toolkit_files.h"

namespace gantry::validator {
namespace {

using std::chrono::seconds;

constexpr seconds kToolkitLookAgain(30);
constexpr seconds kToolkitLimit(5);
constexpr seconds kToolkitHold(1);  // a program that is being replaced is busy for a moment

class Toolkit final : public Stage {
 public:
  explicit Toolkit(const Site& here)
      : Stage({.name = "toolkit",
               .file = names::kToolkitReady,
               .hold = kToolkitHold,
               .again = kToolkitLookAgain},
              here),
        places_({.host_root = here.flags().host_root_here,
                 .toolkit_dir = JoinPath(here.flags().toolkit_root, "toolkit"),
                 .cdi_wanted = here.flags().cdi_enabled}) {}

  [[nodiscard]] std::vector<WatchedPath> Paths() const override {
    std::vector<WatchedPath> paths;
    for (const std::string& path : ToolkitPathsToWatch(places_)) {
      paths.push_back({path});
    }
    for (const char* name : {names::kToolkitFailed, names::kToolkitCdi}) {
      paths.push_back({JoinPath(site().files().directory(), name)});
    }
    return paths;
  }

  Look LookAt(bool /*changed*/) override {
    ToolkitObservation seen = Observe();
    const host::FileInfo info = host::Inspect(HookHere(places_)).value_or(host::FileInfo());
    const std::string about = format("{} {}", info.modified_ns, info.size);
    if (!seen.hook_is_program || seen.hook_is_script || (answered_ && about_ == about)) {
      seen.version = answered_;
      return {.finding = JudgeToolkit(seen), .question = {}};
    }
    about_ = about;
    answered_.reset();
    return {.finding = {}, .question = Question{{HookHere(places_), "--version"}, kToolkitLimit}};
  }

  std::optional<Finding> Hear(const Answer& answer) override {
    ToolkitObservation seen = Observe();
    seen.version = answer;
    if (answer.end == Answer::End::kSaid && answer.exit_code == 0) {
      answered_ = answer;
    }
    return JudgeToolkit(seen);
  }

 private:
  // A report of Gantry's toolkit does not apply to a toolkit installed later.
  [[nodiscard]] ToolkitObservation Observe() const {
    ToolkitPlaces places = places_;
    const bool ours = IsOurs(places);
    const auto document = site().files().Read(names::kToolkitCdi);
    if (ours && document && document->contains("MANAGEMENT")) {
      places.management = document->at("MANAGEMENT");
      places.cdi_wanted = places.cdi_wanted && !places.management.empty();
    }
    ToolkitObservation seen = ObserveToolkit(places);
    const auto failed = site().files().Read(names::kToolkitFailed);
    if (ours && failed && failed->contains("MESSAGE")) {
      seen.failure = failed->at("MESSAGE");
      const auto is_true = [&failed](const char* key) {
        return failed->contains(key) && failed->at(key) == "true";
      };
      seen.serves = is_true("SERVES");
      seen.needs_restart = is_true("NEEDS_RESTART");
    }
    return seen;
  }

  const ToolkitPlaces places_;
  std::string about_;  // the file that was run
  std::optional<Answer> answered_;
};

}  // namespace

std::unique_ptr<Stage> ToolkitStage(const Site& site) { return std::make_unique<Toolkit>(site); }

}  // namespace gantry::validator
