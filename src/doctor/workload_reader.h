// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "doctor/facts.h"
#include "doctor/log_reader.h"
#include "doctor/part_reader.h"
#include "doctor/warnings.h"

namespace gantry::doctor {

// Reads pods that request GPUs and do not get or use them. It owns none of its arguments. Every
// member blocks on the API server; its errors are those of requests.
class WorkloadReader {
 public:
  // `ns`: their namespace; empty: all. `guests` are other workloads' pods in the operator's
  // namespace.
  WorkloadReader(PartReader& parts, LogReader& logs, ClusterFacts& cluster,
                 const Warnings& warnings, const std::set<kube::Key>& guests, std::string ns)
      : parts_(parts),
        logs_(logs),
        cluster_(cluster),
        warnings_(warnings),
        guests_(guests),
        ns_(std::move(ns)) {}

  Status ReadPending();
  // The pending pods for which an autoscaler adds a node.
  Status ReadScaleUps();
  Status ReadFailed();
  // The warnings about rejected, unstarted or restarted pods that still hold.
  Status AddRefusals();
  Status AddStarts();
  Status AddRestarting();
  // Earlier runs of failed pods whose last run does not say why. Other pods come first.
  Status AddEarlierRuns();

 private:
  // Failed runs of an owner's pods, or of a pod without an owner.
  struct FailedFacts {
    std::vector<ContainerFacts> runs;
    std::optional<kube::Key> job = {};  // of Kubernetes' own kind
    bool told = false;                  // one of them explains it
  };

  void KeepRuns(const Json& pod);
  [[nodiscard]] bool IsDone(const FailedFacts& failed) const;
  Status AddRun(FailedFacts& failed, size_t index);
  Status AddRefusal(const Involved& involved, const Told& told);
  Status ReadLog(ContainerFacts& container);
  // Events of the operator's namespace are read whatever namespace of workloads is selected.
  [[nodiscard]] bool IsAskedFor(const kube::Key& key) const { return ns_.empty() || key.ns == ns_; }
  [[nodiscard]] bool IsWorkload(const kube::Key& pod) const;

  PartReader& parts_;
  LogReader& logs_;
  ClusterFacts& cluster_;
  const Warnings& warnings_;
  const std::set<kube::Key>& guests_;
  const std::string ns_;
  size_t logs_asked_ = 0;
  std::map<std::string, FailedFacts> failed_;  // by owner, or pod
};

}  // namespace gantry::doctor
