// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

// Starts of containers that a restart of the container runtime would interrupt.
namespace gantry::container {

struct CriSandbox {
  std::string id;
  std::string pod;  // "<namespace>/<name>"
  bool ready = false;
  WallTime created;
  std::string handler;  // the runtime handler's name; empty: the default one
  bool operator==(const CriSandbox&) const = default;
};

struct CriContainer {
  std::string name;
  std::string sandbox_id;
  bool started = false;  // also if it has ended since
  WallTime created;
  bool operator==(const CriContainer&) const = default;
};

// The protobuf messages ListPodSandboxResponse and ListContainersResponse (runtime.v1). Fields that
// are not needed are skipped; kInternal: malformed.
Result<std::vector<CriSandbox>> ParseCriSandboxes(std::string_view message);
Result<std::vector<CriContainer>> ParseCriContainers(std::string_view message);

// A start takes tenths of a second. An older container that has not started was abandoned, or waits
// for an image pull: no restart waits for it.
constexpr std::chrono::seconds kStartTakes{5};

// The containers that were created and not started yet, as "<namespace>/<pod> <container>", and the
// pods with a sandbox and no container yet, as "<namespace>/<pod>". List the containers first, so
// that what is created between the two lists is found.
std::vector<std::string> StartsUnderWay(const std::vector<CriSandbox>& sandboxes,
                                        const std::vector<CriContainer>& containers, WallTime now);

}  // namespace gantry::container
