// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "container/containerd_reading.h"

// containerd's configuration: the texts that give it the NVIDIA runtimes (containerd's
// docs/man/containerd-config.toml.5.md and docs/cri/config.md). Texts in, texts out. The root file
// on disk decides the schema version, not the output of `containerd config dump`: that is migrated
// to the newest version and contains defaults.
namespace gantry::container {

// Whether it merges an imported file's tables key by key; older versions replace a plugin's entire
// table.
bool MergesTables(const ContainerdVersion& version);

struct ContainerdWish {
  std::optional<std::string> root_text;  // of the root file; nullopt: there is none
  std::string root_path = "/etc/containerd/config.toml";
  // Who owns the root file (container/containerd_layout.h)? False: its distribution rewrites it at
  // each start of containerd. If it does so from a template, the template is edited instead.
  bool edit_root = true;
  std::optional<std::string> template_text;
  // Empty: the tables go into the root file itself, even if it can import.
  std::string drop_in_path = "/etc/containerd/conf.d/99-nvidia.toml";
  // Texts of the files that the root file imports, in containerd's order, without Gantry's drop-in.
  std::vector<std::string> imported;
  ContainerdVersion version;
  std::string program = "/usr/local/nvidia/toolkit/nvidia-container-runtime";
  std::string runtime_name = "nvidia";
  std::string runtime_type = "io.containerd.runc.v2";
  bool set_as_default = false;
  bool enable_cdi = true;
  // Replaces conflicting settings of the files. Else disabled CDI stays disabled, and a conflict in
  // a root file without a drop-in is kUnsupported.
  bool owner_asks = false;
  bool legacy_schema = false;  // an empty root file is of schema 1, as for containerd before 1.3
  std::vector<std::string> annotation_prefixes;  // passed on to the runtime: "<prefix>*"
  // The kubelet's cgroup driver is systemd; used if the configuration has no runtime's table.
  bool kubelet_uses_systemd = false;
};

struct ContainerdPlan {
  int schema = 0;                     // of the root file, hence of the drop-in
  std::string root_text;              // the desired text of the file to edit; may equal root_before
  std::string root_before;            // without Gantry's part
  std::string drop_in_text;           // empty: no drop-in (in the root file, or nothing to add)
  std::string trial_text;             // the root file that containerd will read
  std::vector<std::string> handlers;  // the runtimes that containerd will have
  std::vector<std::string> remarks;   // requested changes left to the file's owner
};

// kInvalid names the line of a root file that is not TOML; kUnsupported an edit that is impossible.
Result<ContainerdPlan> PlanContainerd(const ContainerdWish& wish);

// Programs of the low-level runtimes in the configuration: the default one's, runc's, crun's,
// without programs of NVIDIA's.
std::vector<std::string> LowLevelRuntimes(const ContainerdWish& wish);

// The root file without what PlanContainerd added, whatever else was edited since.
std::string WithoutOurPart(std::string_view root_text, const std::string& drop_in_path);

}  // namespace gantry::container
