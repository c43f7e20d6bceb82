// SPDX-License-Identifier: Apache-2.0
// How does a kubelet behave toward a plugin? A synchronous gRPC server, and one client for each
// registered plugin; events have the order of the device manager's server.go and client.go.
#include "kubelet/testing/fake_kubelet.h"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "device_plugin_v1beta1.grpc.pb.h"
#include "kubelet/plugin_socket.h"

namespace gantry::kubelet {
namespace {

using Stub = v1beta1::DevicePlugin::Stub;

Error ToError(const grpc::Status& status) {
  const bool invalid = status.error_code() == grpc::StatusCode::INVALID_ARGUMENT;
  return {invalid ? ErrorKind::kInvalid : ErrorKind::kUnavailable, status.error_message()};
}

std::vector<Device> FromMessage(const v1beta1::ListAndWatchResponse& message) {
  std::vector<Device> devices;
  for (const auto& in : message.devices()) {
    Device device{.id = in.id(), .healthy = in.health() == "Healthy", .numa_nodes = {}};
    for (const auto& node : in.topology().nodes()) {
      device.numa_nodes.push_back(node.id());
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace

class FakeKubelet::Impl : public v1beta1::Registration::Service {
 public:
  explicit Impl(std::string folder) : folder_(std::move(folder)) {}

  void Start() {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.is_socket()) {
        std::filesystem::remove(entry.path());
      }
    }
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + folder_ + "/kubelet.sock",
                             grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    CHECK(server_ != nullptr);
  }

  void Stop() {
    if (server_ == nullptr) {
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      for (auto& client : clients_) {
        client.context.TryCancel();
      }
    }
    server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
    for (auto& client : clients_) {
      client.thread.join();
    }
    clients_.clear();
    current_.clear();
    endpoints_.clear();
    stopped_ = false;
    unlink((folder_ + "/kubelet.sock").c_str());
  }

  grpc::Status Register(grpc::ServerContext* /*context*/, const v1beta1::RegisterRequest* request,
                        v1beta1::Empty* /*response*/) override {
    auto stub = Dial(*request);
    const std::lock_guard lock(mutex_);
    registrations_++;
    changed_.notify_all();
    const auto& resource = request->resource_name();
    if (!stub || stopped_) {
      current_.erase(resource);
      return {grpc::StatusCode::UNKNOWN, stub ? "stopping" : stub.error().message};
    }
    auto& client = clients_.emplace_back();
    client.resource = resource;
    client.stub = *std::move(stub);
    current_[resource] = &client;
    endpoints_[resource] = client.stub;
    client.thread = std::thread([this, &client] { Run(client); });
    return grpc::Status::OK;
  }

  bool WaitFor(const std::string& resource, const Condition& condition,
               std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [&] { return condition(devices_[resource]); });
  }

  std::vector<Device> Devices(const std::string& resource) {
    const std::lock_guard lock(mutex_);
    return devices_[resource];
  }

  std::map<std::string, std::vector<Device>> AllDevices() {
    const std::lock_guard lock(mutex_);
    return devices_;
  }

  int registrations() {
    const std::lock_guard lock(mutex_);
    return registrations_;
  }

  bool WaitForRegistrations(int count, std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [&] { return registrations_ >= count; });
  }

  bool WaitForLists(int count, std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [&] { return lists_ >= count; });
  }

  int drops() {
    const std::lock_guard lock(mutex_);
    return drops_;
  }

  void Refuse(int calls) {
    const std::lock_guard lock(mutex_);
    refusals_ = calls;
  }

  std::shared_ptr<Stub> Find(const std::string& resource) {
    const std::lock_guard lock(mutex_);
    const auto found = endpoints_.find(resource);
    return found == endpoints_.end() ? nullptr : found->second;
  }

 private:
  struct Client {
    std::string resource;
    std::shared_ptr<Stub> stub;
    grpc::ClientContext context;
    std::thread thread;
  };

  // The plugin, if it answers the first question.
  Result<std::shared_ptr<Stub>> Dial(const v1beta1::RegisterRequest& request) {
    {
      const std::lock_guard lock(mutex_);
      if (refusals_ > 0) {
        refusals_--;
        return Fail(ErrorKind::kUnavailable, "refused by the test");
      }
    }
    TRY_ASSIGN(const int connection, ConnectTo(folder_ + "/" + request.endpoint()));
    std::shared_ptr<Stub> stub =
        v1beta1::DevicePlugin::NewStub(grpc::CreateInsecureChannelFromFd("localhost", connection));
    grpc::ClientContext context;
    v1beta1::DevicePluginOptions options;
    if (const auto status = stub->GetDevicePluginOptions(&context, {}, &options); !status.ok()) {
      return std::unexpected(ToError(status));
    }
    return stub;
  }

  void Run(Client& client) {
    auto stream = client.stub->ListAndWatch(&client.context, {});
    v1beta1::ListAndWatchResponse message;
    while (stream->Read(&message)) {
      const std::lock_guard lock(mutex_);
      devices_[client.resource] = FromMessage(message);
      lists_++;
      changed_.notify_all();
    }
    static_cast<void>(stream->Finish());
    const std::lock_guard lock(mutex_);
    const auto current = current_.find(client.resource);
    if (stopped_ || current == current_.end()) {
      return;
    }
    // Drops the plugin that is registered by now, even if the stream was another's.
    current->second->context.TryCancel();
    current_.erase(current);
    endpoints_.erase(client.resource);
    drops_++;
    for (auto& device : devices_[client.resource]) {
      device.healthy = false;
    }
    changed_.notify_all();
  }

  const std::string folder_;
  std::unique_ptr<grpc::Server> server_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  int registrations_ = 0;
  int lists_ = 0;
  int drops_ = 0;
  int refusals_ = 0;
  std::list<Client> clients_;
  std::map<std::string, Client*> current_;  // the plugin that the end of a stream drops
  std::map<std::string, std::shared_ptr<Stub>> endpoints_;  // the plugin that is called
  std::map<std::string, std::vector<Device>> devices_;
};

FakeKubelet::FakeKubelet(std::string folder) : impl_(std::make_unique<Impl>(std::move(folder))) {}
FakeKubelet::~FakeKubelet() { Stop(); }
void FakeKubelet::Start() { impl_->Start(); }
void FakeKubelet::Stop() { impl_->Stop(); }
bool FakeKubelet::WaitFor(const std::string& resource, const Condition& condition,
                          std::chrono::milliseconds timeout) {
  return impl_->WaitFor(resource, condition, timeout);
}
std::vector<Device> FakeKubelet::Devices(const std::string& resource) {
  return impl_->Devices(resource);
}
std::map<std::string, std::vector<Device>> FakeKubelet::AllDevices() { return impl_->AllDevices(); }
int FakeKubelet::registrations() { return impl_->registrations(); }
bool FakeKubelet::WaitForRegistrations(int count, std::chrono::milliseconds timeout) {
  return impl_->WaitForRegistrations(count, timeout);
}
bool FakeKubelet::WaitForLists(int count, std::chrono::milliseconds timeout) {
  return impl_->WaitForLists(count, timeout);
}
int FakeKubelet::drops() { return impl_->drops(); }
void FakeKubelet::Refuse(int calls) { impl_->Refuse(calls); }

Result<Allocation> FakeKubelet::Allocate(const std::string& resource,
                                         const std::vector<std::string>& ids) {
  const auto stub = impl_->Find(resource);
  if (stub == nullptr) {
    return Fail(ErrorKind::kUnavailable, "no plugin for " + resource);
  }
  v1beta1::AllocateRequest request;
  request.add_container_requests()->mutable_device_ids()->Assign(ids.begin(), ids.end());
  v1beta1::AllocateResponse response;
  grpc::ClientContext context;
  if (const auto status = stub->Allocate(&context, request, &response); !status.ok()) {
    return std::unexpected(ToError(status));
  }
  const auto& from = response.container_responses(0);
  Allocation to;
  to.envs.assign(from.envs().begin(), from.envs().end());
  std::ranges::sort(to.envs);
  to.annotations.assign(from.annotations().begin(), from.annotations().end());
  for (const auto& mount : from.mounts()) {
    to.mounts.push_back({mount.container_path(), mount.host_path(), mount.read_only()});
  }
  for (const auto& device : from.devices()) {
    to.devices.push_back({device.container_path(), device.host_path(), device.permissions()});
  }
  for (const auto& device : from.cdi_devices()) {
    to.cdi_devices.push_back(device.name());
  }
  return to;
}

Result<std::vector<std::string>> FakeKubelet::Prefer(const std::string& resource,
                                                     const PreferredRequest& asked) {
  const auto stub = impl_->Find(resource);
  if (stub == nullptr) {
    return Fail(ErrorKind::kUnavailable, "no plugin for " + resource);
  }
  v1beta1::PreferredAllocationRequest request;
  auto& container = *request.add_container_requests();
  container.mutable_available_device_ids()->Assign(asked.available.begin(), asked.available.end());
  container.mutable_must_include_device_ids()->Assign(asked.required.begin(), asked.required.end());
  container.set_allocation_size(asked.size);
  v1beta1::PreferredAllocationResponse response;
  grpc::ClientContext context;
  if (const auto status = stub->GetPreferredAllocation(&context, request, &response);
      !status.ok()) {
    return std::unexpected(ToError(status));
  }
  const auto& ids = response.container_responses(0).device_ids();
  return std::vector<std::string>(ids.begin(), ids.end());
}

Status FakeKubelet::AskNothing(const std::string& resource) {
  const auto stub = impl_->Find(resource);
  if (stub == nullptr) {
    return Fail(ErrorKind::kUnavailable, "no plugin for " + resource);
  }
  v1beta1::DevicePluginOptions options;
  grpc::ClientContext context;
  if (const auto status = stub->GetDevicePluginOptions(&context, v1beta1::Empty(), &options);
      !status.ok()) {
    return std::unexpected(ToError(status));
  }
  return {};
}

}  // namespace gantry::kubelet
