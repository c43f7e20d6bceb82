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

// A question that may hang, put to a child process.
struct Question {
  std::vector<std::string> argv;  // argv[0] is a path
  std::chrono::milliseconds limit{0};
};

// What looking came to. Neither finding nor question: nothing new.
struct Look {
  std::optional<Finding> finding;
  std::optional<Question> question;
};

struct WatchedPath {
  std::string path;
  host::Watcher::For interest = host::Watcher::For::kContent;
};

// One thing of a node that is checked again and again, and the status file that says how it is. A
// stage looks and judges; the loop (loop.h) waits, asks, and keeps the file.
class Stage {
 public:
  struct Name {
    std::string name;
    std::string file;                   // of the status directory
    std::chrono::milliseconds hold{0};  // how long it must have been untrue before the file goes
    // When it is looked at again although nothing was seen to change; 0: never.
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

  // Paths here whose changes can change the finding.
  [[nodiscard]] virtual std::vector<WatchedPath> Paths() const = 0;
  // `changed`: something that it stands on did; what was asked before is asked again.
  virtual Look LookAt(bool changed) = 0;
  // What the answer means. Nothing: it is about what is no longer there; look again.
  virtual std::optional<Finding> Hear(const Answer& answer) = 0;

 protected:
  [[nodiscard]] const Site& site() const { return site_; }
  // Another status file from now on: which one it is can hang on what was seen.
  void UseFile(std::string file) { name_.file = std::move(file); }

 private:
  Name name_;
  const Site& site_;
};

// "driver": library, kernel module, device nodes, and what NVML answers. Makes the control device
// nodes that are missing, and links to all of them in the host's /dev/char.
std::unique_ptr<Stage> DriverStage(const Site& site);
// "toolkit": what the container toolkit installed runs, and its CDI document names what is there.
std::unique_ptr<Stage> ToolkitStage(const Site& site);
// "cuda": cuInit succeeds.
std::unique_ptr<Stage> CudaStage(const Site& site);
// "plugin": the kubelet has GPUs to give.
std::unique_ptr<Stage> PluginStage(const Site& site);
// "nvidia-fs", "gdrcopy", "nvidia-peermem": a kernel module is loaded. "mofed": the network driver,
// where it is asked for. Nullptr: no such component.
std::unique_ptr<Stage> ModuleStage(const Site& site, const std::string& component);
// "vfio-pci", "vgpu-manager", "vgpu-devices", "cc-manager": what virtual machines need. `labels`
// are the Node's. Nullptr: no such component.
std::unique_ptr<Stage> SandboxStage(const Site& site, const std::string& component,
                                    const std::map<std::string, std::string>& labels);

}  // namespace gantry::validator
