// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/status.h>

#include <vector>

#include "base/error.h"
#include "device_plugin_v1beta1.pb.h"
#include "kubelet/device_plugin/device_plugin.h"

// The messages of v1beta1, made from the plugin's values, and read into them.
namespace gantry::kubelet {

// The status codes of a kubelet's Register that the plugin handles differently.
Status FromGrpc(const grpc::Status& status);

void FillOptions(v1beta1::DevicePluginOptions& options);

v1beta1::ListAndWatchResponse ToMessage(const std::vector<Device>& devices);

// The allocator's decision for each container of a request; an error as gRPC status.
grpc::Status AnswerAllocate(const Allocator& allocator, const v1beta1::AllocateRequest& request,
                            v1beta1::AllocateResponse& response);

grpc::Status AnswerPreferred(const Allocator& allocator,
                             const v1beta1::PreferredAllocationRequest& request,
                             v1beta1::PreferredAllocationResponse& response);

}  // namespace gantry::kubelet
