// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "container/crio.h"
#include "operands/container_toolkit/runtime_setup.h"

namespace gantry::container_toolkit {

// For CRI-O: one drop-in.
class CrioSetup final : public RuntimeSetup {
 public:
  CrioSetup(const Flags& flags, FoundRuntime found, std::vector<std::string> drop_ins);
  [[nodiscard]] std::vector<std::string> LowLevelRuntimes() const override;

 private:
  Result<Wanted> Plan() override;
  // CRI-O reads its drop-ins without an import.
  [[nodiscard]] std::vector<std::string> EditedFiles() const override { return {}; }
  Result<std::string> TryOut(const Wanted& wanted) override;
  Result<std::string> Effective() override;
  // The process survives it, and does not read its runtimes again.
  [[nodiscard]] bool SignalRestarts() const override { return false; }
  [[nodiscard]] std::string UsualUnit() const override { return "crio.service"; }
  [[nodiscard]] Result<std::string> Dump(const std::string& config,
                                         const std::string& folder) const;

  [[nodiscard]] Status CheckAsked() const;

  struct File {
    std::string path;  // host path
    std::string text;
  };
  [[nodiscard]] std::vector<File> ReadFiles() const;  // without Gantry's drop-in
  [[nodiscard]] std::vector<std::string> Texts() const;

  std::string config_path_;
  std::string config_dir_;
  std::string drop_in_path_;
};

}  // namespace gantry::container_toolkit
