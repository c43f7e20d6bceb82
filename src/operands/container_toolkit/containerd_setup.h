// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "container/containerd.h"
#include "container/containerd_imports.h"
#include "container/containerd_layout.h"
#include "operands/container_toolkit/runtime_setup.h"

namespace gantry::container_toolkit {

// For containerd: one drop-in, and its import in the root file if the distribution keeps that file
// (container/containerd_layout.h).
class ContainerdSetup final : public RuntimeSetup {
 public:
  static Result<std::unique_ptr<RuntimeSetup>> Make(const Flags& flags, FoundRuntime found,
                                                    std::vector<std::string> drop_ins);

  Result<Outcome> Install(host::Journal& journal) override;
  [[nodiscard]] std::vector<std::string> LowLevelRuntimes() const override;

 private:
  ContainerdSetup(const Flags& flags, FoundRuntime found, std::vector<std::string> drop_ins)
      : RuntimeSetup(flags, std::move(found), std::move(drop_ins)) {}

  Status ReadFiles();
  Status ChooseLayout();
  Result<Wanted> Plan() override;
  [[nodiscard]] std::vector<std::string> EditedFiles() const override;
  Result<std::string> TryOut(const Wanted& wanted) override;
  Result<std::string> Effective() override;
  [[nodiscard]] Result<std::string> Dump(const std::string& config) const;
  Result<Outcome> RestartForItsOwner(host::Journal& journal);
  [[nodiscard]] std::string UsualUnit() const override { return "containerd.service"; }
  [[nodiscard]] std::chrono::seconds AnswerWithin() const override;
  [[nodiscard]] bool RestartsItself() const override { return layout_.restarts_itself; }

  Status accepted_;  // an error: containerd does not read a requested path
  container::ContainerdLayout layout_;
  container::ContainerdWish wish_;
  container::ContainerdPlan plan_;
  container::ImportedFiles imports_;
};

}  // namespace gantry::container_toolkit
