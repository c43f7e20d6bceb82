// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent/own_node.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mailbox.h"
#include "base/paths.h"
#include "gpu/monitor.h"
#include "host/signals.h"
#include "host/watch.h"
#include "kube/client.h"
#include "kube/failure_line.h"
#include "kube/watch.h"
#include "kubelet/dra/dra_plugin.h"
#include "operands/dra_driver/claims.h"
#include "operands/dra_driver/flags.h"
#include "operands/dra_driver/plugin_gpus.h"
#include "operands/dra_driver/slice_store.h"

namespace gantry::dra_driver {

// The main loop: waits for what can change (GPUs, MIG devices, device plugins, slices, the kubelet,
// signals), and after each change does what is due. Calls no driver; it blocks in its wait and in
// requests to the API server and the kubelet. Claims are served on other threads.
class Driver {
 public:
  // `signals` outlives it.
  Driver(Flags flags, host::Signals& signals, host::Watcher watcher);

  // Until SIGTERM (0), or an error that needs a restart.
  Result<int> Run();

 private:
  struct SlicesChanged {};
  using Message = std::variant<gpu::GpusFound, gpu::GpusMissing, gpu::DriverClosed,
                               gpu::GpusChanged, gpu::WaitFailed, gpu::XidEvent, gpu::Probed,
                               kubelet::dra::DraEvent, SlicesChanged>;

  Status Start();
  Status LockFolder();
  [[nodiscard]] Status CopyHook() const;
  [[nodiscard]] Result<container::HookProgram> FindHook() const;
  [[nodiscard]] Result<container::CdiInput> DriverPlace() const;
  [[nodiscard]] Result<NodeGpus> Complete(const gpu::GpuSet& set) const;
  void Wait();
  void TakeMessages();
  void On(const gpu::GpusFound& found);
  void On(const gpu::GpusMissing& missing);
  void On(const gpu::DriverClosed& /*closed*/) {}
  void On(const gpu::GpusChanged& changed);
  void On(const gpu::WaitFailed& failed);
  void On(const gpu::XidEvent& /*event*/) {}
  void On(const gpu::Probed& /*probed*/) {}
  void On(const kubelet::dra::DraEvent& event);
  void On(const SlicesChanged& changed);

  void LookIfDue();
  // The steps that need the API server or the kubelet; an error: again later.
  Status CatchUp();
  Status ReadPluginGpus();
  Status RestoreClaims();
  Status EndStaleClaims();
  Status Publish();

  void SayLeftOut(std::vector<std::string> sentences);
  void Warn(const char* reason, const std::string& message);

  const Flags flags_;
  const std::string folder_;  // the driver's own
  host::Signals& signals_;
  host::Watcher watcher_;
  Mailbox<Message> mailbox_;
  agent::OwnNode own_node_;
  Fd lock_;
  std::optional<Result<int>> exit_;

  std::string dev_root_here_;
  std::unique_ptr<kube::Client> client_;
  SliceOwner owner_;  // known once the kubelet was asked
  std::shared_ptr<const NodeGpus> gpus_;
  PluginGpus plugin_gpus_;
  std::vector<std::string> left_out_;  // already reported
  std::string gpus_error_;             // the same

  // The pending work.
  std::optional<SteadyTime> look_at_;   // at the GPUs
  std::optional<SteadyTime> retry_at_;  // what failed
  std::optional<SteadyTime> ask_at_;    // what device plugins have
  int failures_ = 0;
  kube::FailureLine failure_line_;
  bool damaged_ = false;
  bool stale_checked_ = false;

  SliceStore slices_{[this] { mailbox_.Post(SlicesChanged{}); }};
  std::unique_ptr<Claims> claims_;
  std::unique_ptr<gpu::Monitor> monitor_;
  std::unique_ptr<kube::Watch> watch_;
  std::unique_ptr<kubelet::dra::DraPlugin> plugin_;
};

}  // namespace gantry::dra_driver
