// SPDX-License-Identifier: Apache-2.0
// Which devices can the kubelet allocate?
//
// The response for a node full of pods exceeds gRPC's limit of 4 MiB, so the limit is higher here.
#include "kubelet/pod_resources.h"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include <utility>

#include "kubelet/plugin_socket.h"
#include "pod_resources_v1.grpc.pb.h"
#include "pod_resources_v1.pb.h"

namespace gantry::kubelet {
namespace {

constexpr int kAnswerLimit = 64 << 20;

Error ToError(const grpc::Status& status, std::string_view call) {
  ErrorKind kind = ErrorKind::kUnavailable;
  switch (status.error_code()) {
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      kind = ErrorKind::kTimeout;
      break;
    case grpc::StatusCode::UNIMPLEMENTED:
      kind = ErrorKind::kUnsupported;
      break;
    case grpc::StatusCode::PERMISSION_DENIED:
      kind = ErrorKind::kDenied;
      break;
    default:
      break;
  }
  return {kind, std::string(call) + " of the kubelet: " + status.error_message()};
}

Result<std::unique_ptr<v1::PodResourcesLister::Stub>> Connect(const std::string& socket) {
  TRY_ASSIGN(const int connection, ConnectTo(socket));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kAnswerLimit);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  return v1::PodResourcesLister::NewStub(
      grpc::CreateCustomInsecureChannelFromFd("localhost", connection, arguments));
}

ContainerDevices FromMessage(const v1::ContainerDevices& devices) {
  return {.resource = devices.resource_name(),
          .ids = {devices.device_ids().begin(), devices.device_ids().end()}};
}

}  // namespace

PodResourcesClient::PodResourcesClient(std::string socket, std::chrono::milliseconds timeout)
    : socket_(std::move(socket)), timeout_(timeout) {}

Result<std::vector<ContainerDevices>> PodResourcesClient::Allocatable() const {
  TRY_ASSIGN(const auto stub, Connect(socket_));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + timeout_);
  v1::AllocatableResourcesResponse response;
  if (const auto status = stub->GetAllocatableResources(&context, {}, &response); !status.ok()) {
    return std::unexpected(ToError(status, "GetAllocatableResources"));
  }
  std::vector<ContainerDevices> all;
  for (const auto& devices : response.devices()) {
    all.push_back(FromMessage(devices));
  }
  return all;
}

}  // namespace gantry::kubelet
