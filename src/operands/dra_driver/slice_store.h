// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "kube/client.h"
#include "kube/watch.h"
#include "operands/dra_driver/slices.h"

namespace gantry::dra_driver {

// This node's ResourceSlices at the API server, as a watch and this program's own writes show them.
// Thread-safe.
class SliceStore final : public kube::WatchSink {
 public:
  // `changed` is called by the watch's thread after each difference; it must not block.
  explicit SliceStore(std::function<void()> changed) : changed_(std::move(changed)) {}

  void Upsert(const Json& object) override;
  void Remove(const kube::Key& key) override;
  void Synced() override;

  // All slices that existed at the start are known.
  [[nodiscard]] bool synced() const;
  [[nodiscard]] bool empty() const;

  // Brings the API server's slices to the wanted ones, with a request for each that differs.
  // Blocks. True: something was written. kConflict, kNotFound: somebody else wrote; look again.
  // kUnsupported: the API server dropped fields.
  Result<bool> Publish(kube::Client& client, const SliceOwner& owner,
                       const std::vector<Device>& devices);

 private:
  [[nodiscard]] std::vector<Json> All() const;
  Status Keep(const Json& sent, const Result<Json>& stored);
  bool Put(const Json& object);

  const std::function<void()> changed_;
  mutable std::mutex mutex_;
  bool synced_ = false;
  std::map<std::string, Json> slices_;  // by name
};

}  // namespace gantry::dra_driver
