// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// Docker's daemon.json (dockerd(8)): which text gives it the NVIDIA runtimes and CDI. It has no
// drop-ins, so ours are members put in as text: every other byte stays. Texts in, texts out.
namespace gantry::container {

struct DockerWish {
  std::optional<std::string> text;  // nullopt: there is no file
  std::string path = "/etc/docker/daemon.json";
  std::string program = "/usr/local/nvidia/toolkit/nvidia-container-runtime";
  std::string runtime_name = "nvidia";
  bool set_as_default = false;
  bool enable_cdi = true;
  bool owner_asks = false;  // what the file says otherwise is replaced; else it is left
};

struct DockerPlan {
  std::string text;    // as it shall be; equal to `before` if nothing is to be done
  std::string before;  // what it would be without us
  std::vector<std::string> handlers;
  std::vector<std::string> remarks;  // what was asked for and is left to the owner of the file
};

// kInvalid if the file is no JSON object, or a member of another type than dockerd reads.
Result<DockerPlan> PlanDocker(const DockerWish& wish);

// The file without what PlanDocker put into it, also if somebody wrote it in another layout since.
// Unchanged if it is no JSON.
std::string WithoutNvidiaRuntimes(const std::string& text, const std::string& program);

// What a file means: two with equal answers need no reload between them. kInvalid if it is no JSON.
Result<std::string> EffectiveDocker(const std::string& text);

}  // namespace gantry::container
