// SPDX-License-Identifier: Apache-2.0
// Which steps does a node need between a driver and pods whose claims have GPUs? This loop calls
// the decisions of the other files in order. What is published stays published while its cause is
// in doubt; a GPU that a device plugin gives out, or has given out since this process started, is
// never published.
#include "operands/dra_driver/driver.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "agent/loop.h"
#include "base/log.h"
#include "base/text.h"
#include "container/hook_program.h"
#include "gpu/device_nodes.h"
#include "gpu/pod_list.h"
#include "host/files.h"
#include "host/status_files.h"
#include "kube/backoff.h"
#include "kube/config.h"
#include "kube/kind.h"

namespace gantry::dra_driver {
namespace {

// Gantry's hook program in the driver's folder, under the name by which it knows what to do.
constexpr char kHookCopy[] = "nvidia-cdi-hook";

using kube::kinds::kResourceClaim;

// A predecessor that was killed may take a moment to end; a free lock sends no event.
constexpr std::chrono::seconds kLockWait{5};
constexpr std::chrono::milliseconds kLockAgain{100};
constexpr std::chrono::seconds kLookAgain{10};  // after GPUs could not be read
constexpr std::chrono::seconds kFirstLookAgain{1};
constexpr std::chrono::milliseconds kSettle{200};  // MIG devices are made one after the other
// A device plugin registers after its socket is there.
constexpr std::chrono::seconds kPluginSettle{1};
// While the Node has GPUs in its capacity that no device plugin offers.
constexpr std::chrono::seconds kPluginAgain{15};
constexpr std::chrono::seconds kKubeletLimit{5};
constexpr std::chrono::seconds kRequestLimit{10};
constexpr kube::Backoff kBackoff{.base = std::chrono::milliseconds(200),
                                 .limit = std::chrono::seconds(30)};

bool CapacityHasGpus(const Json& node) {
  const Json* capacity = At(node, "status.capacity");
  if (capacity == nullptr || !capacity->is_object()) {
    return false;
  }
  return std::ranges::any_of(capacity->items(), [](const auto& entry) {
    return names::IsGpuResource(entry.key()) && entry.value() != "0";
  });
}

void Soonest(std::optional<SteadyTime>& at, SteadyTime other) {
  at = at.has_value() ? std::min(*at, other) : other;
}

bool IsDue(std::optional<SteadyTime>& at) {
  if (!at.has_value() || RealClock().Now() < *at) {
    return false;
  }
  at.reset();
  return true;
}

}  // namespace

Driver::Driver(Flags flags, host::Signals& signals, host::Watcher watcher)
    : flags_(std::move(flags)),
      folder_(JoinPath(flags_.plugins, names::kGpuDraDriver)),
      signals_(signals),
      watcher_(std::move(watcher)),
      own_node_(
          {.name = flags_.node_name, .component = kProgram, .kubeconfig = flags_.kubeconfig}) {}

// NVIDIA's driver takes this lock for each claim: beside this process it prepares none.
Status Driver::LockFolder() {
  const std::string path = JoinPath(folder_, "pu.lock");
  lock_ = Fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock_.valid()) {
    return FailErrno("open " + path, errno);
  }
  const auto until = RealClock().Now() + kLockWait;
  while (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    const std::array stop = {signals_.stop_fd()};
    if (RealClock().Now() > until || host::WaitReadable(stop, RealClock().Now() + kLockAgain)[0]) {
      return Fail(ErrorKind::kUnavailable,
                  format("lock {}: another instance of the driver runs on this node", path));
    }
  }
  return {};
}

Status Driver::CopyHook() const {
  if (!flags_.cdi_hook.empty()) {
    return {};
  }
  std::error_code error;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
  return host::CopyFileAtomic(own.parent_path() / "gantry-runtime", JoinPath(folder_, kHookCopy),
                              0755);
}

// A document that names a program which does not exist would stop each container with a GPU.
Result<container::HookProgram> Driver::FindHook() const {
  if (flags_.cdi_hook.empty()) {
    return container::HookProgram{.path = JoinPath(folder_, kHookCopy), .ours = true};
  }
  const std::string root = gpu::HostRoot(flags_.host_root);
  const auto maker = container::MakerOfHook(root, flags_.cdi_hook);
  // This container's own root does not show it.
  if (maker == container::HookMaker::kAbsent && root != "/") {
    return Fail(ErrorKind::kNotFound,
                format("the node has no program {}, which the start of each container with a GPU "
                       "calls; install NVIDIA's Container Toolkit on the node, or leave "
                       "NVIDIA_CDI_HOOK_PATH empty",
                       flags_.cdi_hook));
  }
  return container::HookProgram{.path = flags_.cdi_hook,
                                .ours = maker == container::HookMaker::kGantry};
}

Status Driver::Start() {
  TRY(host::MakeDirectories(folder_, 0750));
  TRY(host::MakeDirectories(flags_.cdi_root));
  TRY(LockFolder());
  TRY(CopyHook());
  TRY(watcher_.Add(flags_.device_plugins));
  TRY_ASSIGN(auto config, kube::LoadConfig(flags_.kubeconfig));
  TRY_ASSIGN(client_, kube::Client::Create(std::move(config), {.component = kProgram,
                                                               .timeout = kRequestLimit,
                                                               .max_idle_connections = 0}));
  TRY_ASSIGN(const std::string boot_id, host::BootId());
  claims_ = std::make_unique<Claims>(Claims::Options{
      .folder = folder_,
      .cdi_root = flags_.cdi_root,
      .pool = flags_.node_name,
      .boot_id = boot_id,
      .get =
          [this](const kubelet::dra::Claim& claim) {
            return client_->Get(kResourceClaim, {.ns = claim.ns, .name = claim.name});
          },
      .holders = [this](const gpu::GpuSet& set) -> Result<gpu::Holders> {
        TRY_ASSIGN(const auto pods, gpu::ListPods(flags_.pod_resources, kKubeletLimit));
        return gpu::HoldersOf(pods, set.gpus, {});
      }});
  if (const Status loaded = claims_->Load(); !loaded.has_value()) {
    if (loaded.error().kind != ErrorKind::kInvalid) {
      return loaded;
    }
    damaged_ = true;
    Warn("DRACheckpointDamaged", format("{}/checkpoint.json: {}; it is made anew from the API "
                                        "server's claims",
                                        folder_, loaded.error().message));
  } else {
    TRY(claims_->RemoveOrphans());
  }
  TRY_ASSIGN(plugin_, kubelet::dra::DraPlugin::Start(
                          {.driver = names::kGpuDraDriver,
                           .registry = flags_.registry,
                           .folder = folder_,
                           .handler = claims_.get(),
                           .on_event = [this](const auto& event) { mailbox_.Post(event); }}));
  watch_ = std::make_unique<kube::Watch>(
      *client_, kube::kinds::kResourceSlice,
      kube::Selection{.fields = format("spec.nodeName={},spec.driver={}", flags_.node_name,
                                       names::kGpuDraDriver)},
      slices_);
  watch_->Start();
  monitor_ = std::make_unique<gpu::Monitor>(gpu::Monitor::Options{
      .driver_root = flags_.container_driver_root,
      .host_root = gpu::HostRoot(flags_.host_root),
      .tell = [this](gpu::Observation seen) {
        std::visit([this](auto& one) { mailbox_.Post(std::move(one)); }, seen);
      }});
  const auto now = RealClock().Now();
  look_at_ = now;
  ask_at_ = now;
  return {};
}

Result<int> Driver::Run() {
  TRY(Start());
  while (!exit_.has_value()) {
    LookIfDue();
    if (!retry_at_.has_value() || IsDue(retry_at_)) {
      if (const Status done = CatchUp(); done.has_value()) {
        failures_ = 0;
      } else {
        ++failures_;
        if (failure_line_.Due(done.error().message, failures_)) {
          log::Warning("{}; trying again", done.error().message);
        }
        retry_at_ = RealClock().Now() + kBackoff.Delay(failures_, kube::Random());
      }
    }
    Wait();
  }
  return *exit_;
}

void Driver::Wait() {
  std::optional<SteadyTime> deadline;
  // What CatchUp does not get to yet must not wake it.
  const bool asks = gpus_ != nullptr && slices_.synced() && !retry_at_.has_value();
  for (const auto& at :
       {look_at_, retry_at_, asks ? ask_at_ : std::nullopt, monitor_->overdue_at()}) {
    if (at.has_value()) {
      Soonest(deadline, *at);
    }
  }
  const std::array fds = {signals_.stop_fd(), watcher_.fd(), mailbox_.fd()};
  const auto ready = host::WaitReadable(fds, deadline);
  if (ready[0]) {
    exit_ = 0;
    return;
  }
  if (ready[1]) {
    for (const std::string& path : watcher_.Take()) {
      if (path == flags_.device_plugins) {
        Soonest(ask_at_, RealClock().Now() + kPluginSettle);
      } else {
        look_at_ = RealClock().Now() + kSettle;
      }
    }
  }
  if (ready[2]) {
    TakeMessages();
  }
  monitor_->CheckOverdue();
}

void Driver::TakeMessages() {
  for (auto& message : mailbox_.Take()) {
    std::visit([this](const auto& one) { On(one); }, message);
  }
}

void Driver::LookIfDue() {
  if (!IsDue(look_at_)) {
    return;
  }
  // A driver container's root may come late.
  std::string dev_root = gpu::DevRootHere(flags_.container_driver_root);
  if (dev_root != dev_root_here_) {
    dev_root_here_ = std::move(dev_root);
    if (auto watched =
            watcher_.Add(gpu::CapabilityNodes(dev_root_here_), host::Watcher::For::kExistence);
        !watched.has_value()) {
      log::Warning("{}", watched.error().message);
    }
  }
  if (dev_root_here_ != "/") {
    if (auto made = gpu::MirrorDeviceNodes(JoinPath(dev_root_here_, "dev"), "/dev");
        !made.has_value()) {
      log::Warning("{}", made.error().message);
    }
  }
  monitor_->Look();
}

Result<container::CdiInput> Driver::DriverPlace() const {
  container::CdiInput input;
  TRY_ASSIGN(input.hook, FindHook());
  const bool own_dev = dev_root_here_ == flags_.container_driver_root;
  input.driver.root = flags_.container_driver_root;
  input.driver.host_root = flags_.driver_root;
  input.driver.dev_root = dev_root_here_;
  input.driver.host_dev_root = own_dev ? flags_.driver_root : "/";
  input.driver.sys_root = gpu::HostRoot(flags_.host_root);
  input.driver.run_root = input.driver.sys_root;
  return input;
}

Result<NodeGpus> Driver::Complete(const gpu::GpuSet& set) const {
  TRY_ASSIGN(auto place, DriverPlace());
  return FindNodeGpus(set, std::move(place));
}

void Driver::On(const gpu::GpusFound& found) {
  if (!found.set.failed.empty()) {
    look_at_ = RealClock().Now() + kLookAgain;
  }
  auto node = Complete(found.set);
  if (!node.has_value()) {
    On(gpu::GpusMissing{std::move(node).error()});
    return;
  }
  gpus_error_.clear();
  if (gpus_ == nullptr || gpus_->set != found.set) {
    log::Info("{} GPUs, {} devices, driver {}", found.set.gpus.size(), node->devices.devices.size(),
              found.set.driver_version);
  }
  gpus_ = std::make_shared<const NodeGpus>(*std::move(node));
  for (const std::string& sentence : claims_->SetGpus(gpus_)) {
    log::Warning("{}", sentence);
  }
}

void Driver::On(const gpu::GpusMissing& missing) {
  if (std::exchange(gpus_error_, missing.error.message) != missing.error.message) {
    Warn("DRADevicesNotRead", missing.error.message);
  }
  Soonest(look_at_, RealClock().Now() + (gpus_ == nullptr ? kFirstLookAgain : kLookAgain));
}

void Driver::On(const gpu::GpusChanged& /*changed*/) { look_at_ = RealClock().Now() + kSettle; }

void Driver::On(const gpu::WaitFailed& /*failed*/) {
  Soonest(look_at_, RealClock().Now() + kLookAgain);
}

void Driver::On(const SlicesChanged& /*changed*/) {
  // Nodes that are made anew have another UID, and slices of the old one are deleted at once.
  if (slices_.empty()) {
    Soonest(ask_at_, RealClock().Now());
  }
}

void Driver::On(const kubelet::dra::DraEvent& event) {
  using What = kubelet::dra::DraEvent::What;
  switch (event.what) {
    case What::kRegistered:
      log::Info("{} is registered with the kubelet", names::kGpuDraDriver);
      return;
    case What::kRegisterFailed:
      Warn("DRARegistrationFailed", event.error.message);
      return;
    case What::kSuperseded:
      log::Warning("another process serves {} now", names::kGpuDraDriver);
      return;
    case What::kFailed:
      exit_ = std::unexpected(event.error);
      return;
  }
}

Status Driver::CatchUp() {
  if (gpus_ == nullptr || !slices_.synced()) {
    return {};
  }
  TRY(ReadPluginGpus());
  TRY(RestoreClaims());
  TRY(EndStaleClaims());
  return Publish();
}

Status Driver::ReadPluginGpus() {
  if (!IsDue(ask_at_)) {
    return {};
  }
  ask_at_ = RealClock().Now();  // until it was answered
  TRY_ASSIGN(const Json node,
             client_->Get(kube::kinds::kNode, {.ns = {}, .name = flags_.node_name}));
  TRY_ASSIGN(const auto allocatable, gpu::ListAllocatable(flags_.pod_resources, kKubeletLimit));
  TRY_ASSIGN(const auto pods, gpu::ListPods(flags_.pod_resources, kKubeletLimit));
  ask_at_.reset();
  owner_ = SliceOwner{.node = flags_.node_name, .node_uid = kube::UidOf(node)};
  const PluginGpus now = GpusOfPlugins(allocatable, pods, CapacityHasGpus(node), gpus_->set);
  plugin_gpus_.all = now.all;
  plugin_gpus_.uuids.insert(now.uuids.begin(), now.uuids.end());
  if (now.all) {
    ask_at_ = RealClock().Now() + kPluginAgain;
  }
  return {};
}

Status Driver::RestoreClaims() {
  if (!damaged_) {
    return {};
  }
  std::vector<Json> claims;
  TRY(client_->List(kResourceClaim, {}, [&](Json claim) { claims.push_back(std::move(claim)); }));
  TRY_ASSIGN(const auto failed, claims_->Restore(claims));
  for (const std::string& sentence : failed) {
    log::Warning("not restored: {}", sentence);
  }
  damaged_ = false;
  log::Info("the checkpoint is made anew");
  return claims_->RemoveOrphans();
}

// A claim that was deleted while no driver ran, and that no kubelet knows any more.
Status Driver::EndStaleClaims() {
  if (stale_checked_) {
    return {};
  }
  for (const kubelet::dra::Claim& claim : claims_->Known()) {
    if (claim.name.empty()) {
      continue;
    }
    const auto found = client_->Get(kResourceClaim, {.ns = claim.ns, .name = claim.name});
    if (!found.has_value() && found.error().kind != ErrorKind::kNotFound) {
      return std::unexpected(found.error());
    }
    if (!found.has_value() || kube::UidOf(*found) != claim.uid) {
      log::Info("claim {}/{} ({}) is gone", claim.ns, claim.name, claim.uid);
      TRY(claims_->Unprepare(claim));
    }
  }
  stale_checked_ = true;
  return {};
}

Status Driver::Publish() {
  std::vector<Device> devices;
  std::vector<std::string> left_out = gpus_->devices.left_out;
  for (const Device& device : gpus_->devices.devices) {
    const std::string& uuid = gpus_->set.gpus[device.gpu_at].uuid;
    if (plugin_gpus_.Has(uuid)) {
      left_out.push_back(
          format("device {}: a device plugin of this node gives out its GPU", device.name));
    } else {
      devices.push_back(device);
    }
  }
  for (const gpu::FailedGpu& failed : gpus_->set.failed) {
    left_out.push_back(format("GPU {}: it can't be read: {}", failed.index, failed.reason));
  }
  TRY_ASSIGN(const bool written, slices_.Publish(*client_, owner_, devices));
  if (written) {
    log::Info("{} devices are published", devices.size());
  }
  SayLeftOut(std::move(left_out));
  return {};
}

void Driver::SayLeftOut(std::vector<std::string> sentences) {
  for (const std::string& sentence : sentences) {
    if (std::ranges::find(left_out_, sentence) == left_out_.end()) {
      Warn("DRADeviceNotOffered", sentence);
    }
  }
  left_out_ = std::move(sentences);
}

void Driver::Warn(const char* reason, const std::string& message) {
  log::Warning("{}", message);
  own_node_.Warning(reason, message);
}

}  // namespace gantry::dra_driver
