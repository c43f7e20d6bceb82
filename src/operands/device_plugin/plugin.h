// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "agent/condition_writer.h"
#include "agent/own_node.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mailbox.h"
#include "container/hook_program.h"
#include "gpu/device_nodes.h"
#include "gpu/health.h"
#include "gpu/monitor.h"
#include "gpu/owners_file.h"
#include "host/signals.h"
#include "host/status_files.h"
#include "host/watch.h"
#include "kubelet/device_plugin/plugin_host.h"
#include "operands/device_plugin/allocate.h"
#include "operands/device_plugin/config_files.h"
#include "operands/device_plugin/config_label.h"
#include "operands/device_plugin/kubelet_place.h"
#include "operands/device_plugin/offer.h"
#include "operands/device_plugin/resources.h"
#include "operands/device_plugin/settings.h"
#include "policy/reasons.h"

namespace gantry::device_plugin {

// The main loop: waits for what can change (status files, configuration, node label, GPUs, the
// kubelet, signals), and after each change runs the same steps from the top, each of which does
// only what is due. Calls no driver and blocks only in its wait.
class Plugin {
 public:
  // `signals` outlives it.
  Plugin(Flags flags, host::Signals& signals, host::StatusFiles status_files,
         host::Watcher watcher);

  // Until SIGTERM, or until an error that needs a restart. Returns the exit status.
  int Run();

 private:
  struct ListsServed {
    uint64_t number;  // of the call
  };
  using Message =
      std::variant<gpu::GpusFound, gpu::GpusMissing, gpu::DriverClosed, gpu::GpusChanged,
                   gpu::WaitFailed, gpu::XidEvent, gpu::Probed, kubelet::PluginEvent, ListsServed>;

  Status Start();
  [[nodiscard]] std::vector<KubeletPlace> LookForKubelet() const;
  void FollowKubelet();
  void Wait();
  void TakeMessages();
  void On(gpu::GpusFound found);
  void On(gpu::GpusMissing missing);
  void On(const gpu::DriverClosed& closed);
  void On(const gpu::GpusChanged& changed);
  void On(const gpu::WaitFailed& failed);
  void On(const gpu::XidEvent& event);
  void On(const gpu::Probed& probed);
  void On(const kubelet::PluginEvent& event);
  void On(const ListsServed& served);
  void OnPaths(const std::vector<std::string>& changed);
  void OnHealth(const std::vector<gpu::HealthChange>& changes);

  // The steps; false: later steps must wait.
  void Evaluate();
  void TakeOwners();
  void TellOwners();
  [[nodiscard]] gpu::Owners Withheld() const;
  bool DriverIsReady();
  bool ConfigIsKnown();
  [[nodiscard]] Found WhatTheNodeHas() const;
  void RejectConfig(const Error& error);
  void LookAtGpus(const DriverRoots& driver);
  void LookForTegra();
  void ProbeIfDue();
  void Serve(const Settings& settings, const gpu::GpuSet& set);
  std::string LookAtHook(const Settings& settings);
  bool FindBeside(const Settings& settings, std::vector<std::string>& left_out);
  bool CdiIsWritten(const Settings& settings, const gpu::GpuSet& set, const Resources& offered);
  bool MpsIsReady(const Settings& settings, const Resource& resource);
  void SayLeftOut(const std::vector<std::string>& sentences);
  void SayCondition(const gpu::GpuSet& set);

  [[nodiscard]] std::optional<SteadyTime> Deadline() const;
  [[nodiscard]] std::optional<SteadyTime> OwnersDue() const;
  // An event on the Node, if there is a Node and an API server.
  void Report(bool warning, const reasons::Reason& reason, const std::string& message);
  void Fail(const std::string& message);

  const Flags flags_;
  host::Signals& signals_;
  const host::StatusFiles status_files_;
  host::Watcher watcher_;
  Mailbox<Message> mailbox_;
  std::optional<int> exit_;

  // The known state.
  std::optional<host::StatusValues> driver_ready_;
  bool driver_was_gone_ = false;
  std::optional<LoadedConfig> config_;
  std::vector<KubeletPlace> places_;  // where the kubelet may be
  KubeletPlace place_;                // where it was last searched
  std::string register_error_;        // already reported
  std::string config_error_;          // of the present file, while an older one is in use
  std::optional<Settings> settings_;
  std::optional<gpu::GpuSet> set_;
  gpu::HealthBook health_;

  gpu::OwnersReader owners_reader_;
  gpu::Owners owners_;
  gpu::Owners returning_;  // what they had, and is not seen since
  const std::shared_ptr<LastAllocate> last_allocate_ = std::make_shared<LastAllocate>();
  bool owners_known_ = false;  // a file that was damaged from the start says nothing of any GPU

  Beside beside_;
  // Whose program the CDI documents' hooks call, and the paths whose changes can change it.
  container::HookMaker hook_maker_ = container::HookMaker::kOther;
  std::set<std::string> hook_watched_;
  std::optional<std::vector<kubelet::PluginResource>> served_;  // nothing: not yet
  std::vector<std::string> left_out_;                           // already reported
  std::set<std::string> unreadable_;                            // the same
  std::string wait_error_;                                      // the same
  std::optional<agent::NodeCondition> condition_;               // already reported
  std::string mps_watched_;  // the folder of the MPS control daemon

  // The pending work.
  bool owners_changed_ = true;
  bool owners_untold_ = false;            // what they ask for is not carried out yet
  bool driver_closes_ = false;            // for an exclusive owner
  uint64_t lists_ = 0;                    // given to the host
  uint64_t lists_served_ = 0;             // the last that the kubelet's calls are answered from
  bool look_for_owners_ = false;          // a GPU came back
  std::optional<uint64_t> awaited_look_;  // that looks at it
  bool status_changed_ = true;
  bool config_changed_ = true;
  bool offer_changed_ = false;
  bool cdi_changed_ = true;
  std::optional<SteadyTime> look_at_;   // at the GPUs again
  std::optional<SteadyTime> serve_at_;  // again
  SteadyTime probed_{};

  agent::ConditionWriter condition_writer_;
  agent::OwnNode own_node_;
  ConfigLabel label_{flags_, own_node_};
  DriverRoots monitored_;
  std::map<std::string, gpu::NodeIdentity> gpu_nodes_;  // at the last look
  std::unique_ptr<gpu::Monitor> monitor_;
  std::unique_ptr<kubelet::PluginHost> host_;
};

}  // namespace gantry::device_plugin
