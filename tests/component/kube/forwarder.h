// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace gantry::kube {

// The network between a client and a server on 127.0.0.1, which a test can cut.
class Forwarder {
 public:
  explicit Forwarder(uint16_t target);
  ~Forwarder();
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  [[nodiscard]] uint16_t port() const { return port_; }
  // Resets every connection; new ones go through.
  void Cut();
  enum class Mode { kPass, kRefuse, kSwallow };
  // Refuse: new connections are closed at once, old ones cut. Swallow: bytes go nowhere, both ways,
  // as in a network that drops packets.
  void Set(Mode mode);
  [[nodiscard]] int accepted() const;

 private:
  void Run();

  const uint16_t target_;
  uint16_t port_ = 0;
  int listener_ = -1;
  int wake_ = -1;
  mutable std::mutex mutex_;
  Mode mode_ = Mode::kPass;
  bool cut_ = false;
  bool end_ = false;
  int accepted_ = 0;
  std::thread thread_;
};

}  // namespace gantry::kube
