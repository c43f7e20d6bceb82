// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
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
#include "gpu/device_nodes.h"
#include "gpu/health.h"
#include "gpu/monitor.h"
#include "gpu/owners_file.h"
#include "host/signals.h"
#include "host/status_files.h"
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
  Driver(Flags flags, host::Signals& signals, host::StatusFiles status_files,
         host::Watcher watcher);

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
  void On(const gpu::DriverClosed& /*closed*/) { driver_closes_ = false; }
  void On(const gpu::GpusChanged& changed);
  void On(const gpu::WaitFailed& failed);
  void On(const gpu::XidEvent& event);
  void On(const gpu::Probed& probed);
  void On(const kubelet::dra::DraEvent& event);
  void On(const SlicesChanged& changed);

  // What other programs of the node do with its GPUs: driver_owners.cc.
  void TakeOwners();
  void TellOwners();
  [[nodiscard]] gpu::Owners Withheld() const;
  [[nodiscard]] Result<std::vector<std::string>> ClaimsOnOwned() const;

  // Whether the place of a driver is known; it stays known while the validator's file is away.
  bool DriverIsReady();
  void OnPath(const std::string& path);
  void LookIfDue();
  void ProbeIfDue();
  void OnHealth(const std::vector<gpu::HealthChange>& changes);
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
  const host::StatusFiles status_files_;
  host::Watcher watcher_;
  Mailbox<Message> mailbox_;
  agent::OwnNode own_node_;
  Fd lock_;
  std::optional<Result<int>> exit_;

  std::optional<host::StatusValues> driver_ready_;
  bool driver_was_gone_ = false;
  std::string driver_root_;       // on the host
  std::string driver_root_here_;  // where it is mounted here
  std::string dev_root_here_;
  std::map<std::string, gpu::NodeIdentity> gpu_nodes_;  // at the last look
  std::unique_ptr<kube::Client> client_;
  SliceOwner owner_;  // known once the kubelet was asked
  std::shared_ptr<const NodeGpus> gpus_;
  PluginGpus plugin_gpus_;
  gpu::HealthBook health_;
  SteadyTime probed_{};
  std::vector<std::string> left_out_;  // already reported
  std::string gpus_error_;             // the same

  gpu::OwnersReader owners_reader_;
  gpu::Owners owners_;
  gpu::Owners returning_;      // what they had, and is not seen since
  bool owners_known_ = false;  // a file that was damaged from the start says nothing of any GPU
  std::vector<std::string> holding_;  // claims on GPUs that another program waits for; reported

  // The pending work.
  bool status_changed_ = true;
  bool owners_changed_ = true;
  bool owners_untold_ = false;            // what they ask for is not carried out yet
  bool driver_closes_ = false;            // for an exclusive owner
  std::optional<uint64_t> awaited_look_;  // at a GPU that came back
  std::optional<SteadyTime> tell_at_;     // that it is carried out
  std::optional<SteadyTime> look_at_;     // at the GPUs
  std::optional<SteadyTime> retry_at_;    // what failed
  std::optional<SteadyTime> ask_at_;      // what device plugins have
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
