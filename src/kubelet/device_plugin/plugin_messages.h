// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/status.h>

#include <vector>

#include "base/error.h"
#include "device_plugin_v1beta1.pb.h"
#include "kubelet/device_plugin/device_plugin.h"

// The messages of v1beta1, made of what the plugin has and read into it.
namespace gantry::kubelet {

// The status codes a kubelet's Register can answer with that differ in what we do.
Status FromGrpc(const grpc::Status& status);

void FillOptions(v1beta1::DevicePluginOptions& options);

v1beta1::ListAndWatchResponse ToMessage(const std::vector<Device>& devices);

// What the allocator decides for each container of a request; an error as gRPC has it.
grpc::Status AnswerAllocate(const Allocator& allocator, const v1beta1::AllocateRequest& request,
                            v1beta1::AllocateResponse& response);

grpc::Status AnswerPreferred(const Allocator& allocator,
                             const v1beta1::PreferredAllocationRequest& request,
                             v1beta1::PreferredAllocationResponse& response);

}  // namespace gantry::kubelet
