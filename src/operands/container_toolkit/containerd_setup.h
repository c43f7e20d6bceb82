// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "container/containerd.h"
#include "host/journal.h"
#include "host/processes.h"
#include "operands/container_toolkit/options.h"

namespace gantry::container_toolkit {

// Brings a running containerd to have NVIDIA's runtimes, or takes them from it. It is found by its
// socket, its files by its command line; a new configuration is tried by containerd itself before
// it is put in place, and taken back if the restarted containerd does not answer within seconds.
class ContainerdSetup {
 public:
  explicit ContainerdSetup(const Options& options) : options_(options) {}

  struct Outcome {
    std::vector<std::string> changed;  // host paths
    bool restarted = false;
    std::vector<std::string> remarks;
  };

  // kUnavailable: nobody serves the socket now; kInvalid: the root file or the result is refused,
  // nothing was changed; kTimeout: the restarted runtime did not answer, everything was taken back.
  Result<Outcome> Install(host::Journal& journal);

  // Removes everything that the journal knows, of the toolkit's other files too, and restarts
  // containerd if that changes its effective configuration.
  Result<Outcome> Remove(host::Journal& journal);

  // Paths here whose change may need Install again; known after the first call of it.
  [[nodiscard]] std::vector<std::string> PathsToWatch() const;

 private:
  struct Runtime {
    host::ProcessId process;
    std::string program;      // host path
    std::string config_path;  // host path of the root file
    container::ContainerdVersion version;
  };
  struct Files {
    container::ContainerdWish wish;
    std::vector<std::string> import_files;  // host paths in containerd's order, without our drop-in
    std::optional<std::string> drop_in;     // as it is on disk
  };

  [[nodiscard]] std::string Here(const std::string& host_path) const;
  [[nodiscard]] Result<Runtime> FindRuntime() const;
  [[nodiscard]] Result<Files> ReadFiles(const Runtime& runtime) const;
  [[nodiscard]] std::string DropInPath(const Runtime& runtime) const;
  [[nodiscard]] Result<std::string> Dump(const Runtime& runtime, const std::string& config) const;
  [[nodiscard]] Result<std::string> TryOut(const Runtime& runtime, const Files& files,
                                           const container::ContainerdPlan& plan) const;
  Result<bool> RestartIfNeeded(host::Journal& journal, const Runtime& runtime,
                               const std::string& wanted, const std::vector<std::string>& handlers);
  [[nodiscard]] Status Restart(const Runtime& runtime) const;
  [[nodiscard]] Result<host::ProcessId> WaitForAnswer(
      const host::ProcessId& before, const std::vector<std::string>& handlers) const;
  [[nodiscard]] bool HasHandlers(const std::vector<std::string>& handlers) const;
  [[nodiscard]] std::string SystemdUnit(const Runtime& runtime) const;

  const Options& options_;
  std::string drop_in_path_;
  std::vector<std::string> watched_;
};

}  // namespace gantry::container_toolkit
