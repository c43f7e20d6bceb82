// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"

// The doctor's facts on containers that do not run as they should.
namespace gantry::doctor {

// NVIDIA's resources ("nvidia.com/gpu", "nvidia.com/mig-1g.5gb", ...) by name.
using GpuCounts = std::map<std::string, long long>;

// A run that ended earlier says nothing about the present state.
inline constexpr std::chrono::minutes kRecent(60);

long long SumOf(const GpuCounts& counts);

// The waiting reason of the current container while the pod's volumes, its sandbox or the image are
// missing.
inline constexpr char kContainerCreating[] = "ContainerCreating";

struct ContainerFacts {
  std::string ns;
  std::string pod;
  std::string app;  // its DaemonSet's name; for other pods the label `app`
  std::string node;
  std::string container;
  std::string image;
  bool init = false;
  bool ready = false;
  std::string waiting;      // why it waits: CrashLoopBackOff, ImagePullBackOff, ...; empty: it runs
  std::string message;      // the kubelet's, about that
  std::string since;        // start of a running init container, or of one being created
  std::string ended;        // why its last run ended: Error, OOMKilled; empty: none did
  std::string ended_at;     // RFC 3339
  std::string last_words;   // the runtime's error of the start, or its own message; of that run
  long long exit_code = 0;  // of that run
  bool over = false;        // that run is the current one: it is not restarted, or not yet
  long long restarts = 0;   // so far
  std::string memory_limit;        // "512Mi"; empty: none
  std::string log;                 // the end of that run's log, if it was read
  std::string lacks_secrets = {};  // the kubelet's message about missing pull secrets
  bool operator==(const ContainerFacts&) const = default;
};

// The pod's containers that wait for anything but an earlier container, or whose last run failed,
// and the running init container (core/v1 PodStatus).
std::vector<ContainerFacts> TroubledContainers(const Json& pod);

// Whether it never ran: then it has no log, but the error of the runtime that could not start it.
bool NeverRan(const ContainerFacts& container);

// Whether it restarts repeatedly: it waits for its next run, or this one is not ready yet and the
// previous one failed within the last hour.
bool EndsAgain(const ContainerFacts& container, WallTime now);

// Whether it restarts repeatedly, or failed within the last hour.
bool FailsNow(const ContainerFacts& container, WallTime now);

inline constexpr size_t kMostRuns = 4;
// Keeps this many failed runs of an owner's pods, the newest first; runs that were only killed,
// perhaps because another one failed, come last.
void KeepTelling(std::vector<ContainerFacts>& runs, ContainerFacts run);

// The NVIDIA resources that a pod requests from the scheduler; none with the count 0.
GpuCounts PodWants(const Json& pod);
// NVIDIA's resources of a map of quantities (a Node's capacity); null: none.
GpuCounts GpusIn(const Json* resources);

}  // namespace gantry::doctor
