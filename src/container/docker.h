// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// Docker's daemon.json (dockerd(8)): the text that gives it the NVIDIA runtimes and CDI. Docker has
// no drop-ins, so members are inserted as text: every other byte stays. Texts in, texts out.
namespace gantry::container {

struct DockerWish {
  std::optional<std::string> text;  // nullopt: there is no file
  std::string path = "/etc/docker/daemon.json";
  std::string program = "/usr/local/nvidia/toolkit/nvidia-container-runtime";
  std::string runtime_name = "nvidia";
  bool set_as_default = false;
  bool enable_cdi = true;
  bool owner_asks = false;  // conflicting settings are replaced; else they are kept
};

struct DockerPlan {
  std::string text;    // the desired text; equal to `before` if there is nothing to do
  std::string before;  // without Gantry's part
  std::vector<std::string> handlers;
  std::vector<std::string> remarks;  // requested changes left to the file's owner
};

// kInvalid if the file is not a JSON object, or a member has another type than dockerd reads.
Result<DockerPlan> PlanDocker(const DockerWish& wish);

// The file without what PlanDocker added, also if it was reformatted since. Unchanged if it is not
// JSON.
std::string WithoutNvidiaRuntimes(const std::string& text, const std::string& program);

// The meaning of a file: between two equal results no reload is needed. kInvalid if it is not JSON.
Result<std::string> EffectiveDocker(const std::string& text);

}  // namespace gantry::container
