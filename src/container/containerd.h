// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "container/containerd_reading.h"

// containerd's configuration: which texts give it the NVIDIA runtimes (containerd's
// docs/man/containerd-config.toml.5.md and docs/cri/config.md). Texts in, texts out. The root file
// on disk decides about the schema version, never what `containerd config dump` prints: that is
// migrated to the newest version and holds defaults that nobody wrote.
namespace gantry::container {

// Whether it puts an imported file's tables together with what is there, key by key; before, a
// plugin's whole table was replaced.
bool MergesTables(const ContainerdVersion& version);

struct ContainerdWish {
  std::optional<std::string> root_text;  // of the root file; nullopt: there is none
  std::string root_path = "/etc/containerd/config.toml";
  // Whose is the root file (container/containerd_layout.h)? Not to be edited: somebody writes it
  // anew whenever containerd starts. With a template, out of that file, which is edited instead.
  bool edit_root = true;
  std::optional<std::string> template_text;
  // Empty: the tables go into the root file itself, also where it can import.
  std::string drop_in_path = "/etc/containerd/conf.d/99-nvidia.toml";
  // Texts of the files that the root file imports, in containerd's order, without our drop-in.
  std::vector<std::string> imported;
  ContainerdVersion version;
  std::string program = "/usr/local/nvidia/toolkit/nvidia-container-runtime";
  std::string runtime_name = "nvidia";
  std::string runtime_type = "io.containerd.runc.v2";
  bool set_as_default = false;
  bool enable_cdi = true;
  // What the files say otherwise is replaced. Else CDI that is switched off is left so, and a root
  // file without a drop-in that says otherwise is kUnsupported.
  bool owner_asks = false;
  bool legacy_schema = false;  // an empty root file is of schema 1, as for containerd before 1.3
  std::vector<std::string> annotation_prefixes;  // passed on to the runtime: "<prefix>*"
  // The kubelet's cgroup driver is systemd: for a configuration that has no runtime's table.
  bool kubelet_uses_systemd = false;
};

struct ContainerdPlan {
  int schema = 0;            // of the root file, hence of the drop-in
  std::string root_text;     // of the file to edit, as it shall be; may be equal to root_before
  std::string root_before;   // what it would be without us
  std::string drop_in_text;  // empty: no drop-in (in the root file, or all is there already)
  std::string trial_text;    // what containerd will read as its root file
  std::vector<std::string> handlers;  // the runtimes that containerd has then
  std::vector<std::string> remarks;   // what was asked for and is left to the owner of the file
};

// kInvalid names the line of a root file that is no TOML; kUnsupported what cannot be done to it.
Result<ContainerdPlan> PlanContainerd(const ContainerdWish& wish);

// Programs of the low-level runtimes that the configuration names: of the default one, of runc, of
// crun, but for programs of NVIDIA's.
std::vector<std::string> LowLevelRuntimes(const ContainerdWish& wish);

// The root file without what PlanContainerd put into it, whatever else was edited since.
std::string WithoutOurPart(std::string_view root_text, const std::string& drop_in_path);

}  // namespace gantry::container
