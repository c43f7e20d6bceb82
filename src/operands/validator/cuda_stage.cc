// SPDX-License-Identifier: Apache-2.0
// Does CUDA start on this node? Checked until it succeeds, and only once for each driver, because
// cuInit wakes every GPU. It may succeed later: when a fabric manager starts, or MIG devices are
// made.
#include "base/paths.h"
#include "operands/validator/stage.h"

namespace gantry::validator {
namespace {

constexpr std::chrono::seconds kCudaLimit(120);  // on a machine with many GPUs
constexpr std::chrono::seconds kCudaLookAgain(60);

class CudaInit final : public Stage {
 public:
  explicit CudaInit(const Site& here)
      : Stage({.name = "cuda", .file = names::kCudaReady, .hold = {}, .again = kCudaLookAgain},
              here) {}

  [[nodiscard]] std::vector<WatchedPath> Paths() const override {
    return {{JoinPath(site().files().directory(), names::kDriverReady)}};
  }

  Look LookAt(bool /*changed*/) override {
    const host::DriverVerdict driver = site().Driver();
    if (!site().files().Read(names::kDriverReady) || driver.kind == host::DriverKind::kNone) {
      works_ = false;
      return {.finding = Finding{.state = Finding::State::kNotReady,
                                 .reason = "DriverNotReady",
                                 .message = "CUDA waits for the driver",
                                 .remedy = "",
                                 .values = {},
                                 .waits = true},
              .question = {}};
    }
    const Result<host::StatusValues> own = site().files().Read(file());
    if (own && own->contains(host::kDriverVersionLine) &&
        own->at(host::kDriverVersionLine) == driver.version) {
      if (works_) {
        return {};
      }
      works_ = true;
      return {.finding = CudaWorks("as found before", driver.version), .question = {}};
    }
    const std::string root = site().DriverRootHere(driver);
    const std::string library = JoinPath(ParentOf(driver.tree.library), "libcuda.so.1");
    std::vector<std::string> argv = Site::Probe("cuda");
    argv.insert(argv.end(),
                {"--probe-library", ResolveInRoot(root, library).value_or(JoinPath(root, library)),
                 "--probe-root", site().DevRootHere(driver)});
    return {.finding = {}, .question = Question{std::move(argv), kCudaLimit}};
  }

  std::optional<Finding> Hear(const Answer& answer) override {
    Finding finding = JudgeCuda(answer, site().Driver().version);
    works_ = finding.state == Finding::State::kReady;
    return finding;
  }

 private:
  bool works_ = false;  // the status file exists, and was reported to the loop
};

}  // namespace

std::unique_ptr<Stage> CudaStage(const Site& site) { return std::make_unique<CudaInit>(site); }

}  // namespace gantry::validator
