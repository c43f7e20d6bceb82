// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "operands/metrics_exporter/facts.h"
#include "operands/metrics_exporter/fields.h"

namespace gantry::metrics_exporter {

// One value with labels of its own.
struct Point {
  double value = 0;
  std::vector<std::pair<std::string, std::string>> labels = {};      // beside the counters' labels
  std::vector<std::pair<std::string, std::string>> attributes = {};  // beside the pod's
};

// What has happened on the node's GPUs, as far as metrics count it.
class EventLog {
 public:
  struct Windows {
    std::chrono::milliseconds xids{300'000};
    std::chrono::milliseconds clocks{300'000};
  };
  explicit EventLog(Windows windows) : windows_(windows) {}

  // An XID error of a GPU, or of one of its GPU instances alone.
  void AddXid(const std::string& uuid, uint64_t xid, std::optional<unsigned> gpu_instance,
              SteadyTime at);
  // A look at a GPU: what held its clocks back, its health, its peers. True: it was reset since the
  // look before.
  bool Look(const std::string& uuid, const Facts& facts, SteadyTime at);
  // After a reset no XID is the last one, and none counts for health. Totals stay.
  void Reset(const std::string& uuid);
  // Changes whenever something has happened that outlives the process.
  [[nodiscard]] uint64_t version() const { return version_; }
  // As a text that Restore reads, of this boot of the node or another. kInvalid: it can't be read.
  [[nodiscard]] std::string Save(const std::string& boot_id) const;
  Status Restore(std::string_view text, const std::string& boot_id);
  // Whether there was an XID since the last reset.
  [[nodiscard]] bool HasXid(const std::string& uuid) const;

  // The values of a metric that counts events; those of a GPU count all of its instances.
  [[nodiscard]] std::vector<Point> Points(From what, const std::string& uuid,
                                          std::optional<unsigned> gpu_instance,
                                          SteadyTime now) const;

 private:
  struct Xid {
    SteadyTime at;
    uint64_t number;
    std::optional<unsigned> gpu_instance;
  };
  struct Clocks {
    SteadyTime at;
    uint64_t reasons;
  };
  struct OfGpu {
    std::deque<Xid> xids = {};  // of the window
    uint64_t last_xid = 0;
    uint64_t last_of_all = 0;                            // that was not of one instance alone
    std::map<unsigned, uint64_t> last_of_instance = {};  // since then
    std::map<uint64_t, uint64_t> xid_totals = {};
    std::deque<Clocks> clocks = {};
    uint64_t reasons = 0;                            // at the last look
    std::map<uint64_t, uint64_t> clock_totals = {};  // by bit
    std::optional<ResetMarks> marks = {};
    GpuHealth health = {};
    bool health_seen = false;
    std::vector<PeerStatus> peers = {};
  };

  void AddClockReasons(OfGpu& gpu, uint64_t reasons, SteadyTime at);
  [[nodiscard]] static std::vector<Point> ClockTotal(const OfGpu& gpu);
  [[nodiscard]] static std::vector<Point> HealthOf(const OfGpu& gpu);
  [[nodiscard]] static std::vector<Point> PeersOf(const OfGpu& gpu);
  [[nodiscard]] static std::vector<Point> XidTotal(const OfGpu& gpu);
  [[nodiscard]] static std::vector<Point> LastXid(const OfGpu& gpu,
                                                  std::optional<unsigned> gpu_instance);
  [[nodiscard]] std::vector<Point> XidCount(const OfGpu& gpu, SteadyTime now) const;
  [[nodiscard]] std::vector<Point> ClockCount(const OfGpu& gpu, SteadyTime now) const;

  const Windows windows_;
  uint64_t version_ = 0;
  std::map<std::string, OfGpu> gpus_;
};

// What an XID means; "Unknown Error" for one that is not in NVIDIA's list.
std::string_view XidText(uint64_t xid);

}  // namespace gantry::metrics_exporter
