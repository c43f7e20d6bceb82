// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/watch.h"
#include "operands/validator/site.h"
#include "operands/validator/verdict.h"

namespace gantry::validator {

// A call that may hang, for a child process.
struct Question {
  std::vector<std::string> argv;  // argv[0] is a path
  std::chrono::milliseconds limit{0};
};

// The result of a look. Neither finding nor question: nothing new.
struct Look {
  std::optional<Finding> finding;
  std::optional<Question> question;
};

struct WatchedPath {
  std::string path;
  host::Watcher::For interest = host::Watcher::For::kContent;
};

// One repeated check of a node, with its status file. A stage observes and judges; the loop
// (loop.h) waits, starts children, and keeps the file.
class Stage {
 public:
  struct Name {
    std::string name;
    std::string file;                   // of the status directory
    std::chrono::milliseconds hold{0};  // how long it must have failed before the file is removed
    // When it is checked again without an event; 0: never.
    std::chrono::milliseconds again{0};
  };

  Stage(Name name, const Site& site) : name_(std::move(name)), site_(site) {}
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;

  [[nodiscard]] const std::string& name() const { return name_.name; }
  [[nodiscard]] const std::string& file() const { return name_.file; }
  [[nodiscard]] std::chrono::milliseconds hold() const { return name_.hold; }
  [[nodiscard]] std::chrono::milliseconds again() const { return name_.again; }

  // Local paths whose changes can change the finding.
  [[nodiscard]] virtual std::vector<WatchedPath> Paths() const = 0;
  // `changed`: one of its inputs changed; earlier questions are asked again.
  virtual Look LookAt(bool changed) = 0;
  // The finding from an answer. Nothing: it is outdated; look again.
  virtual std::optional<Finding> Hear(const Answer& answer) = 0;

 protected:
  [[nodiscard]] const Site& site() const { return site_; }
  // Uses another status file from now on: its name can depend on the observation.
  void UseFile(std::string file) { name_.file = std::move(file); }

 private:
  Name name_;
  const Site& site_;
};

// "driver": library, kernel module, device nodes, and NVML's answer. Makes missing control device
// nodes, and links to all of them in the host's /dev/char.
std::unique_ptr<Stage> DriverStage(const Site& site);
// "toolkit": the container toolkit's programs run, and its CDI document names existing files.
std::unique_ptr<Stage> ToolkitStage(const Site& site);
// "cuda": cuInit succeeds.
std::unique_ptr<Stage> CudaStage(const Site& site);
// "plugin": the kubelet has allocatable GPUs.
std::unique_ptr<Stage> PluginStage(const Site& site);
// "nvidia-fs", "gdrcopy", "nvidia-peermem": a kernel module is loaded. "mofed": the network driver,
// if requested. Nullptr: no such component.
std::unique_ptr<Stage> ModuleStage(const Site& site, const std::string& component);
// "vfio-pci", "vgpu-manager", "vgpu-devices", "cc-manager": the requirements of virtual machines.
// `labels` are the Node's. Nullptr: no such component.
std::unique_ptr<Stage> SandboxStage(const Site& site, const std::string& component,
                                    const std::map<std::string, std::string>& labels);

}  // namespace gantry::validator
