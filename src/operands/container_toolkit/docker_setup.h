// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "container/docker.h"
#include "operands/container_toolkit/runtime_setup.h"

namespace gantry::container_toolkit {

// For Docker: members in its daemon.json, which the running daemon reads again after a SIGHUP.
class DockerSetup final : public RuntimeSetup {
 public:
  DockerSetup(const Flags& flags, FoundRuntime found, std::vector<std::string> drop_ins);
  [[nodiscard]] std::vector<std::string> LowLevelRuntimes() const override { return {}; }

 private:
  Result<Wanted> Plan() override;
  [[nodiscard]] std::vector<std::string> EditedFiles() const override { return {config_path_}; }
  Result<std::string> TryOut(const Wanted& wanted) override;
  Result<std::string> Effective() override;
  [[nodiscard]] Result<host::ProcessId> Answers(const host::ProcessId& before,
                                                const std::vector<std::string>& handlers,
                                                std::chrono::milliseconds limit) const override;
  // A reload interrupts no container.
  [[nodiscard]] Result<std::vector<std::string>> StartsUnderWay(
      WallTime /*begin*/, std::chrono::milliseconds /*limit*/) const override {
    return {};
  }
  [[nodiscard]] bool ReloadsInPlace() const override { return flags().restart_mode != "systemd"; }
  // Docker does not report which runtime created a container.
  [[nodiscard]] Result<std::vector<container::CriSandbox>> Sandboxes(
      std::chrono::milliseconds /*limit*/) const override {
    return {};
  }
  [[nodiscard]] Status Restart(const host::ProcessId& process) const override;
  [[nodiscard]] std::string UsualUnit() const override { return "docker.service"; }

  std::string config_path_;
};

}  // namespace gantry::container_toolkit
