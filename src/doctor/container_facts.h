// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"

// What the doctor keeps of containers that do not run as they should.
namespace gantry::doctor {

// Resources of NVIDIA ("nvidia.com/gpu", "nvidia.com/mig-1g.5gb", ...) by name.
using GpuCounts = std::map<std::string, long long>;

// What ended earlier than that says nothing about now.
inline constexpr std::chrono::minutes kRecent(60);

long long SumOf(const GpuCounts& counts);

// Why a container waits whose turn it is, while the pod's volumes, its sandbox or the image are not
// there.
inline constexpr char kContainerCreating[] = "ContainerCreating";

struct ContainerFacts {
  std::string ns;
  std::string pod;
  std::string app;  // its DaemonSet's name; of other pods the label `app`
  std::string node;
  std::string container;
  std::string image;
  bool init = false;
  bool ready = false;
  std::string waiting;      // why it waits: CrashLoopBackOff, ImagePullBackOff, ...; empty: it runs
  std::string message;      // the kubelet's, about that
  std::string since;        // an init container that runs, or one that is being made: since when
  std::string ended;        // why its last run ended: Error, OOMKilled; empty: none did
  std::string ended_at;     // RFC 3339
  std::string last_words;   // the runtime's why it could not be started, or its own; of that run
  long long exit_code = 0;  // of that run
  bool over = false;        // that run is the one it has: it is not started anew, or not yet
  long long restarts = 0;   // so far
  std::string memory_limit;        // "512Mi"; empty: none
  std::string log;                 // the end of what that run wrote, if somebody read it
  std::string lacks_secrets = {};  // the kubelet's words about pull secrets that are not there
  bool operator==(const ContainerFacts&) const = default;
};

// The pod's containers that wait for anything but the one before them, or whose last run failed,
// and the init container that runs (core/v1 PodStatus).
std::vector<ContainerFacts> TroubledContainers(const Json& pod);

// Whether no run of it was: it has no log then, and the words of the runtime that could not start
// it.
bool NeverRan(const ContainerFacts& container);

// Whether it is started again and again: it waits for its next run, or this one is not ready yet
// and the one before failed within the last hour.
bool EndsAgain(const ContainerFacts& container, WallTime now);

// Whether it is started again and again, or failed within the last hour.
bool FailsNow(const ContainerFacts& container, WallTime now);

inline constexpr size_t kMostRuns = 4;
// Keeps so many runs of an owner's pods that failed, the newest first; those that were only killed,
// maybe because another had failed, come after the others.
void KeepTelling(std::vector<ContainerFacts>& runs, ContainerFacts run);

// What a pod asks the scheduler for of NVIDIA's resources; none with the count 0.
GpuCounts PodWants(const Json& pod);
// NVIDIA's resources of a map of quantities (a Node's capacity); null: none.
GpuCounts GpusIn(const Json* resources);

}  // namespace gantry::doctor
