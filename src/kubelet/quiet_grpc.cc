// SPDX-License-Identifier: Apache-2.0
// How does an idle gRPC process stay asleep? gRPC 1.51, which Debian 12 has, keeps two timer lists,
// each with a thread that wakes at least every second (timer_generic.cc, MAX_QUEUE_WINDOW). A
// function of gRPC's own tests disables iomgr's; another event engine replaces the default one's. A
// server and a client over local sockets that the caller connects need no timer, resolver or
// listener.
#include "kubelet/quiet_grpc.h"

#include <grpc/event_engine/event_engine.h>
#include <grpc/grpc.h>

#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"

// A function of libgrpc (src/core/lib/iomgr/timer_manager.h) that no public header declares.
void grpc_timer_manager_set_threading(bool enabled);

namespace gantry::kubelet {
namespace {

namespace engine = grpc_event_engine::experimental;

class QuietEngine : public engine::EventEngine {
 public:
  bool IsWorkerThread() override { return false; }

  void Run(Closure* closure) override {
    std::thread([closure] { closure->Run(); }).detach();
  }
  void Run(absl::AnyInvocable<void()> closure) override {
    std::thread(std::move(closure)).detach();
  }

  // No timer matters here: the only ones are for idle and aged connections, which are disabled.
  TaskHandle RunAfter(Duration /*when*/, Closure* /*closure*/) override { return {}; }
  TaskHandle RunAfter(Duration /*when*/, absl::AnyInvocable<void()> /*closure*/) override {
    return {};
  }
  bool Cancel(TaskHandle /*handle*/) override { return true; }

  absl::StatusOr<std::unique_ptr<Listener>> CreateListener(
      Listener::AcceptCallback /*on_accept*/,
      absl::AnyInvocable<void(absl::Status)> /*on_shutdown*/,
      const engine::EndpointConfig& /*config*/,
      std::unique_ptr<engine::MemoryAllocatorFactory> /*factory*/) override {
    return absl::UnimplementedError("no listener");
  }
  ConnectionHandle Connect(OnConnectCallback /*on_connect*/, const ResolvedAddress& /*address*/,
                           const engine::EndpointConfig& /*config*/,
                           engine::MemoryAllocator /*allocator*/, Duration /*timeout*/) override {
    CheckFailed("gRPC connects by itself", __FILE__, __LINE__);
  }
  bool CancelConnect(ConnectionHandle /*handle*/) override { return false; }
  std::unique_ptr<DNSResolver> GetDNSResolver(
      const DNSResolver::ResolverOptions& /*options*/) override {
    return nullptr;
  }
};

}  // namespace

void QuietGrpc() {
  static std::once_flag once;
  std::call_once(once, [] {
    engine::SetEventEngineFactory([] { return std::make_unique<QuietEngine>(); });
    grpc_init();
    grpc_timer_manager_set_threading(false);
  });
}

}  // namespace gantry::kubelet
