// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "gpu/owners.h"
#include "gpu/pod_gpus.h"
#include "kubelet/dra/dra.h"
#include "operands/dra_driver/checkpoint.h"
#include "operands/dra_driver/node_gpus.h"

namespace gantry::dra_driver {

// The claims that are prepared on this node: the checkpoint on the disk, and a CDI document for
// each. Thread-safe.
class Claims final : public kubelet::dra::ClaimHandler {
 public:
  struct Options {
    std::string folder;    // of the checkpoint; exists
    std::string cdi_root;  // of the CDI documents; exists
    std::string pool;      // this node's
    std::string boot_id;   // a checkpoint of another boot counts as empty
    // The claim as the API server has it; blocks.
    std::function<Result<Json>(const kubelet::dra::Claim&)> get;
    // Who has GPUs from a device plugin, by the kubelet; blocks.
    std::function<Result<gpu::Holders>(const gpu::GpuSet&)> holders;
  };

  explicit Claims(Options options) : options_(std::move(options)) {}

  // Reads the checkpoint. kInvalid: it is damaged; then claims are neither prepared nor unprepared
  // until Restore.
  Status Load();
  // Makes the checkpoint anew from the claims of the API server, and keeps the damaged file aside.
  // Claims without a device of this node are left out. Call SetGpus before it. Returns what could
  // not be restored, a sentence each.
  Result<std::vector<std::string>> Restore(const std::vector<Json>& claims);

  // What is on the node now. Documents of prepared claims that differ are written anew: another
  // driver has other files. Returns what could not be written, a sentence each.
  std::vector<std::string> SetGpus(std::shared_ptr<const NodeGpus> gpus);

  // The GPUs that other programs of the node have for now: no claim of one is prepared.
  void SetOwners(gpu::Owners owners);

  // Removes the CDI documents of claims that are not in the checkpoint. Nothing while it is
  // damaged.
  Status RemoveOrphans();

  [[nodiscard]] std::vector<kubelet::dra::Claim> Known() const;

  // Waits 20 seconds for what is missing at the start, which the kubelet would wait longer for.
  Result<std::vector<kubelet::dra::PreparedDevice>> Prepare(
      const kubelet::dra::Claim& claim) override;
  Status Unprepare(const kubelet::dra::Claim& claim) override;

 private:
  Result<std::vector<kubelet::dra::PreparedDevice>> TryPrepare(const kubelet::dra::Claim& claim);
  Status TryUnprepare(const kubelet::dra::Claim& claim);
  Result<std::shared_ptr<const NodeGpus>> AwaitReady();
  // With the mutex held.
  [[nodiscard]] Status Save() const;
  Result<bool> WriteDocument(const std::string& uid, const ClaimEntry& entry) const;

  [[nodiscard]] std::string CheckpointPath() const;
  [[nodiscard]] std::string DocumentPath(const std::string& uid) const;

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool loaded_ = false;
  Checkpoint checkpoint_;
  std::shared_ptr<const NodeGpus> gpus_;
  gpu::Owners owners_;
};

}  // namespace gantry::dra_driver
