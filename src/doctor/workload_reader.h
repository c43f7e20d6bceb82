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

// Reads pods that want GPUs and do not get or use them. It owns nothing that it is given. Every
// member blocks on the API server; its errors are those of requests.
class WorkloadReader {
 public:
  // `ns`: their namespace; empty: all. `guests` are pods of others in the operator's namespace.
  WorkloadReader(PartReader& parts, LogReader& logs, ClusterFacts& cluster,
                 const Warnings& warnings, const std::set<kube::Key>& guests, std::string ns)
      : parts_(parts),
        logs_(logs),
        cluster_(cluster),
        warnings_(warnings),
        guests_(guests),
        ns_(std::move(ns)) {}

  Status ReadPending();
  // Of the pending ones, those that an autoscaler brings a node for.
  Status ReadScaleUps();
  Status ReadFailed();
  // Of what the warnings say that pods are refused, not started or restarted: what still holds.
  Status AddRefusals();
  Status AddStarts();
  Status AddRestarting();
  // Of failed pods whose last run does not say why. Other pods come before.
  Status AddEarlierRuns();

 private:
  // Failed runs among the pods of an owner, or of one that has none.
  struct FailedFacts {
    std::vector<ContainerFacts> runs;
    std::optional<kube::Key> job = {};  // of Kubernetes' own kind
    bool told = false;                  // one of them says why
  };

  void KeepRuns(const Json& pod);
  [[nodiscard]] bool IsDone(const FailedFacts& failed) const;
  Status AddRun(FailedFacts& failed, size_t index);
  Status AddRefusal(const Involved& involved, const Told& told);
  Status ReadLog(ContainerFacts& container);
  // Events of the operator's namespace are read whichever workloads are asked for.
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
