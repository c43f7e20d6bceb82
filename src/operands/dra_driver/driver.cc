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
#include <utility>

#include "agent/loop.h"
#include "base/log.h"
#include "base/text.h"
#include "container/hook_program.h"
#include "gpu/device_nodes.h"
#include "gpu/health_news.h"
#include "gpu/pod_list.h"
#include "host/files.h"
#include "host/status_files.h"
#include "kube/backoff.h"
#include "kube/config.h"
#include "kube/kind.h"

namespace gantry::dra_driver {
namespace {

// In the image: Gantry's hook program, which knows by its name what to do.
constexpr char kHookProgram[] = "/opt/gantry/gantry-runtime";

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

Driver::Driver(Flags flags, host::Signals& signals, host::StatusFiles status_files,
               host::Watcher watcher)
    : flags_(std::move(flags)),
      folder_(JoinPath(flags_.plugins, names::kGpuDraDriver)),
      signals_(signals),
      status_files_(std::move(status_files)),
      watcher_(std::move(watcher)),
      own_node_({.name = flags_.node_name, .component = kProgram, .kubeconfig = flags_.kubeconfig}),
      owners_reader_(flags_.status_dir) {
  health_.SetPolicy(gpu::MakeXidPolicy({}, flags_.ignored_xids, ""));
}

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
  return host::CopyFileAtomic(kHookProgram, JoinPath(folder_, names::kDraHookCopy), 0755);
}

// A document that names a program which does not exist would stop each container with a GPU.
Result<container::HookProgram> Driver::FindHook() const {
  if (flags_.cdi_hook.empty()) {
    return container::HookProgram{.path = JoinPath(folder_, names::kDraHookCopy), .ours = true};
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
  TRY(watcher_.Add(status_files_.directory()));
  TRY(watcher_.Add(owners_reader_.path()));
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
            return client_->Get(kube::kinds::kResourceClaim, {.ns = claim.ns, .name = claim.name});
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
  ask_at_ = RealClock().Now();
  return {};
}

Result<int> Driver::Run() {
  TRY(Start());
  while (!exit_.has_value()) {
    TakeOwners();
    if (DriverIsReady()) {
      LookIfDue();
      ProbeIfDue();
    }
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
    TellOwners();
    Wait();
  }
  return *exit_;
}

void Driver::Wait() {
  std::optional<SteadyTime> deadline;
  // What CatchUp does not get to yet must not wake it.
  const bool asks = gpus_ != nullptr && slices_.synced() && !retry_at_.has_value();
  const bool probes = gpus_ != nullptr && monitor_ != nullptr;
  // What is overdue for an owner waits for a message.
  const bool tells = tell_at_.has_value() && *tell_at_ > RealClock().Now();
  for (const auto& at : {probes ? health_.NextProbe(probed_) : std::nullopt,
                         monitor_ != nullptr ? look_at_ : std::nullopt, retry_at_,
                         asks ? ask_at_ : std::nullopt, tells ? tell_at_ : std::nullopt,
                         monitor_ != nullptr ? monitor_->overdue_at() : std::nullopt}) {
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
      OnPath(path);
    }
  }
  if (ready[2]) {
    TakeMessages();
  }
  if (monitor_ != nullptr) {
    monitor_->CheckOverdue();
  }
}

void Driver::OnPath(const std::string& path) {
  status_changed_ = status_changed_ || path == status_files_.directory();
  owners_changed_ = owners_changed_ || path == owners_reader_.path();
  if (path == flags_.device_plugins) {
    Soonest(ask_at_, RealClock().Now() + kPluginSettle);
  }
  const std::string dev = JoinPath(dev_root_here_, "dev");
  if (path == gpu::CapabilityNodes(dev_root_here_) ||
      (path == dev && gpu::HasNewNode(gpu::GpuNodes(dev), gpu_nodes_))) {
    look_at_ = RealClock().Now() + kSettle;
  }
}

bool Driver::DriverIsReady() {
  if (!std::exchange(status_changed_, false)) {
    return monitor_ != nullptr;
  }
  const std::vector<std::string> missing = flags_.Missing(status_files_);
  if (!missing.empty()) {
    if (monitor_ == nullptr) {
      log::Info("waiting for {}", Join(missing, ", "));
    }
    driver_was_gone_ = true;
    return monitor_ != nullptr;
  }
  host::StatusValues now = {{"NVIDIA_DRIVER_ROOT", flags_.driver_root},
                            {"DRIVER_ROOT_CTR_PATH", flags_.container_driver_root}};
  if (flags_.WaitsFor(names::kDriverReady)) {
    now = status_files_.Read(names::kDriverReady).value_or(now);
  }
  if (monitor_ != nullptr && driver_ready_ == now && !driver_was_gone_) {
    return true;
  }
  if (monitor_ != nullptr) {
    log::Info("the driver has changed");
  }
  driver_was_gone_ = false;
  driver_root_ = now["NVIDIA_DRIVER_ROOT"];
  driver_root_here_ = now["DRIVER_ROOT_CTR_PATH"];
  driver_ready_ = std::move(now);
  // Another driver, or the same one reloaded: the open library belongs to the old one.
  monitor_ = std::make_unique<gpu::Monitor>(gpu::Monitor::Options{
      .driver_root = driver_root_here_,
      .host_root = gpu::HostRoot(flags_.host_root),
      .tell = [this](gpu::Observation seen) {
        std::visit([this](auto& one) { mailbox_.Post(std::move(one)); }, seen);
      }});
  driver_closes_ = false;
  look_at_ = RealClock().Now();
  return true;
}

void Driver::TakeMessages() {
  for (auto& message : mailbox_.Take()) {
    std::visit([this](const auto& one) { On(one); }, message);
  }
}

void Driver::LookIfDue() {
  if (gpu::AnyExclusive(owners_)) {
    look_at_.reset();  // after that
    return;
  }
  if (!IsDue(look_at_)) {
    return;
  }
  // A driver container's root may come late.
  std::string dev_root = gpu::DevRootHere(driver_root_here_);
  const std::string dev = JoinPath(dev_root, "dev");
  gpu_nodes_ = gpu::GpuNodes(dev);
  if (dev_root != dev_root_here_) {
    dev_root_here_ = std::move(dev_root);
    // A GPU's node may come later than the driver; MIG devices are made and removed with theirs.
    for (const std::string& folder : {dev, gpu::CapabilityNodes(dev_root_here_)}) {
      if (auto watched = watcher_.Add(folder, host::Watcher::For::kExistence);
          !watched.has_value()) {
        log::Warning("{}", watched.error().message);
      }
    }
  }
  if (dev_root_here_ != "/") {
    if (auto made = gpu::MirrorDeviceNodes(dev, "/dev"); !made.has_value()) {
      log::Warning("{}", made.error().message);
    }
  }
  const uint64_t look = monitor_->Look();
  if (!returning_.empty() || awaited_look_.has_value()) {
    awaited_look_ = look;
  }
}

void Driver::ProbeIfDue() {
  const auto now = RealClock().Now();
  const auto next = health_.NextProbe(probed_);
  if (gpus_ == nullptr || !next.has_value() || now < *next) {
    return;
  }
  probed_ = now;
  if (gpu::AnyExclusive(owners_)) {
    return;
  }
  std::vector<std::string> uuids;
  for (const gpu::Gpu& gpu : gpus_->set.gpus) {
    uuids.push_back(gpu.uuid);
  }
  monitor_->Probe(std::move(uuids));
}

Result<container::CdiInput> Driver::DriverPlace() const {
  container::CdiInput input;
  TRY_ASSIGN(input.hook, FindHook());
  const bool own_dev = dev_root_here_ == driver_root_here_;
  input.driver.root = driver_root_here_;
  input.driver.host_root = driver_root_;
  input.driver.dev_root = dev_root_here_;
  input.driver.host_dev_root = own_dev ? driver_root_ : "/";
  input.driver.sys_root = gpu::HostRoot(flags_.host_root);
  input.driver.run_root = input.driver.sys_root;
  return input;
}

Result<NodeGpus> Driver::Complete(const gpu::GpuSet& set) const {
  TRY_ASSIGN(auto place, DriverPlace());
  return FindNodeGpus(set, std::move(place));
}

void Driver::On(const gpu::GpusFound& found) {
  if (awaited_look_.has_value() && found.look >= *awaited_look_) {
    awaited_look_.reset();
    returning_.clear();
    claims_->SetOwners(Withheld());
  }
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
  if (gpus_ == nullptr) {
    probed_ = RealClock().Now();
  }
  health_.Track(node->set.gpus);
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
  // Each GPU is probed at once to find which one it is.
  probed_ = SteadyTime{};
}

void Driver::On(const gpu::XidEvent& event) {
  log::Warning("XID {} on {}", event.xid,
               event.gpu_uuid.empty() ? "a GPU that is not known" : event.gpu_uuid);
  const auto changes = health_.OnXid(event, RealClock().Now());
  if (!changes.empty()) {
    probed_ = SteadyTime{};
  }
  OnHealth(changes);
}

void Driver::On(const gpu::Probed& probed) {
  for (const auto& answer : probed.answers) {
    OnHealth(health_.OnProbe(answer.uuid, answer.status, RealClock().Now()));
  }
}

void Driver::OnHealth(const std::vector<gpu::HealthChange>& changes) {
  for (const gpu::HealthChange& change : changes) {
    if (change.to == gpu::Health::kHealthy) {
      // Its events must be registered again, and it may have other MIG devices.
      look_at_ = RealClock().Now();
    }
    const gpu::HealthNews news = gpu::NewsOf(change);
    gpu::Log(news);
    if (news.event != nullptr && news.level == gpu::HealthNews::Level::kInfo) {
      own_node_.Normal(news.event->code, news.message);
    } else if (news.event != nullptr) {
      own_node_.Warning(news.event->code, news.message);
    }
  }
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
  TRY(client_->List(kube::kinds::kResourceClaim, {},
                    [&](Json claim) { claims.push_back(std::move(claim)); }));
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
    const auto found =
        client_->Get(kube::kinds::kResourceClaim, {.ns = claim.ns, .name = claim.name});
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
  const gpu::Owners withheld = Withheld();
  const std::set<std::string> unhealthy = health_.out_of_service();
  for (const Device& device : gpus_->devices.devices) {
    const std::string& uuid = gpus_->set.gpus[device.gpu_at].uuid;
    if (const auto owner = withheld.find(uuid); owner != withheld.end() || !owners_known_) {
      left_out.push_back(owner == withheld.end()
                             ? format("device {}: another program may have its GPU", device.name)
                             : format("device {}: {}: {}", device.name, owner->second.program,
                                      owner->second.reason));
    } else if (plugin_gpus_.Has(uuid)) {
      left_out.push_back(
          format("device {}: a device plugin of this node gives out its GPU", device.name));
    } else if (unhealthy.contains(uuid) || unhealthy.contains(device.uuid)) {
      left_out.push_back(format("device {}: it is out of service", device.name));
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
