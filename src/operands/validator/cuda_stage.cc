// SPDX-License-Identifier: Apache-2.0
// Does CUDA start on this node? Asked once for each driver, because cuInit wakes every GPU; a
// failure that may pass (a fabric manager that starts later) is asked about again.
#include "base/paths.h"
#include "base/text.h"
#include "operands/validator/stage.h"

namespace gantry::validator {
namespace {

constexpr std::chrono::seconds kLimit(120);  // on a machine with many GPUs

class Cuda final : public Stage {
 public:
  explicit Cuda(const Site& here)
      : Stage({.name = "cuda", .file = names::kCudaReady, .hold = {}, .again = {}}, here) {}

  [[nodiscard]] std::vector<WatchedPath> Paths() const override {
    return {{JoinPath(site().files().directory(), names::kDriverReady)}};
  }

  Look LookAt(bool /*changed*/) override {
    const host::DriverVerdict driver = site().Driver();
    if (!site().files().Read(names::kDriverReady) || driver.kind == host::DriverKind::kNone) {
      answered_about_.clear();
      return {.finding = Finding{.state = Finding::State::kNotReady,
                                 .reason = "DriverNotReady",
                                 .message = "CUDA waits for the driver",
                                 .remedy = "",
                                 .values = {}},
              .question = {}};
    }
    const Result<host::StatusValues> own = site().files().Read(file());
    if (own && own->contains(host::kDriverVersionLine) &&
        own->at(host::kDriverVersionLine) == driver.version) {
      return {.finding = CudaWorks("as found before", driver.version), .question = {}};
    }
    about_ = Join({driver.version, driver.driver_root, driver.tree.library}, " ");
    if (about_ == answered_about_) {
      return {};
    }
    const std::string root = site().DriverRootHere(driver);
    const std::string library = JoinPath(ParentOf(driver.tree.library), "libcuda.so.1");
    std::vector<std::string> argv = Site::Probe("cuda");
    argv.insert(argv.end(),
                {"--probe-library", ResolveInRoot(root, library).value_or(JoinPath(root, library)),
                 "--probe-root", site().DevRootHere(driver)});
    return {.finding = {}, .question = Question{std::move(argv), kLimit}};
  }

  std::optional<Finding> Hear(const Answer& answer) override {
    Finding finding = JudgeCuda(answer, site().Driver().version);
    answered_about_ = finding.state == Finding::State::kNotReady ? "" : about_;
    return finding;
  }

 private:
  std::string about_;           // the driver whose CUDA is asked
  std::string answered_about_;  // the one that has answered for good
};

}  // namespace

std::unique_ptr<Stage> CudaStage(const Site& site) { return std::make_unique<Cuda>(site); }

}  // namespace gantry::validator
