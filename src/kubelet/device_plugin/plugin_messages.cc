// SPDX-License-Identifier: Apache-2.0
// How do the kubelet's messages and the plugin's values convert into each other?
#include "kubelet/device_plugin/plugin_messages.h"

#include <string>
#include <utility>

namespace gantry::kubelet {
namespace {

grpc::Status ToGrpc(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kInvalid:
      return {grpc::StatusCode::INVALID_ARGUMENT, error.message};
    case ErrorKind::kNotFound:
      return {grpc::StatusCode::NOT_FOUND, error.message};
    default:
      return {grpc::StatusCode::INTERNAL, error.message};
  }
}

void FillAllocation(const Allocation& from, v1beta1::ContainerAllocateResponse& to) {
  for (const auto& [name, value] : from.envs) {
    (*to.mutable_envs())[name] = value;
  }
  for (const auto& [name, value] : from.annotations) {
    (*to.mutable_annotations())[name] = value;
  }
  for (const auto& mount : from.mounts) {
    auto& out = *to.add_mounts();
    out.set_container_path(mount.container_path);
    out.set_host_path(mount.host_path);
    out.set_read_only(mount.read_only);
  }
  for (const auto& device : from.devices) {
    auto& out = *to.add_devices();
    out.set_container_path(device.container_path);
    out.set_host_path(device.host_path);
    out.set_permissions(device.permissions);
  }
  for (const auto& name : from.cdi_devices) {
    to.add_cdi_devices()->set_name(name);
  }
}

std::vector<std::string> Texts(const google::protobuf::RepeatedPtrField<std::string>& field) {
  return {field.begin(), field.end()};
}

}  // namespace

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) {
    return {};
  }
  ErrorKind kind = ErrorKind::kUnavailable;
  if (status.error_code() == grpc::StatusCode::CANCELLED) {
    kind = ErrorKind::kTimeout;
  } else if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    kind = ErrorKind::kUnsupported;
  }
  return Fail(kind, "register with the kubelet: " + status.error_message());
}

void FillOptions(v1beta1::DevicePluginOptions& options) {
  options.set_get_preferred_allocation_available(true);
}

v1beta1::ListAndWatchResponse ToMessage(const std::vector<Device>& devices) {
  v1beta1::ListAndWatchResponse message;
  for (const auto& device : devices) {
    auto& out = *message.add_devices();
    out.set_id(device.id);
    out.set_health(device.healthy ? "Healthy" : "Unhealthy");
    for (const auto node : device.numa_nodes) {
      out.mutable_topology()->add_nodes()->set_id(node);
    }
  }
  return message;
}

grpc::Status AnswerAllocate(const Allocator& allocator, const v1beta1::AllocateRequest& request,
                            v1beta1::AllocateResponse& response) {
  for (const auto& container : request.container_requests()) {
    auto allocation = allocator.Allocate(Texts(container.device_ids()));
    if (!allocation) {
      return ToGrpc(allocation.error());
    }
    FillAllocation(*allocation, *response.add_container_responses());
  }
  return grpc::Status::OK;
}

grpc::Status AnswerPreferred(const Allocator& allocator,
                             const v1beta1::PreferredAllocationRequest& request,
                             v1beta1::PreferredAllocationResponse& response) {
  for (const auto& container : request.container_requests()) {
    const PreferredRequest asked{.available = Texts(container.available_device_ids()),
                                 .required = Texts(container.must_include_device_ids()),
                                 .size = container.allocation_size()};
    auto preferred = allocator.Prefer(asked);
    if (!preferred) {
      return ToGrpc(preferred.error());
    }
    auto& out = *response.add_container_responses();
    out.mutable_device_ids()->Assign(preferred->begin(), preferred->end());
  }
  return grpc::Status::OK;
}

}  // namespace gantry::kubelet
