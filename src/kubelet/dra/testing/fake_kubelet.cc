// SPDX-License-Identifier: Apache-2.0
// Which calls does a kubelet make?
#include "kubelet/dra/testing/fake_kubelet.h"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "dra_v1.pb.h"
#include "kubelet/plugin_socket.h"
#include "plugin_registration_v1.pb.h"

namespace gantry::kubelet::dra {
namespace {

namespace message = k8s::io::kubelet::pkg::apis::dra::v1;

ErrorKind KindOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::UNIMPLEMENTED:
      return ErrorKind::kUnsupported;
    case grpc::StatusCode::INVALID_ARGUMENT:
      return ErrorKind::kInvalid;
    default:
      return ErrorKind::kUnavailable;
  }
}

std::string Method(const std::string& version, const char* name) {
  return "/k8s.io.kubelet.pkg.apis.dra." + version + ".DRAPlugin/" + name;
}

template <typename Request>
Request RequestFor(const Claim& claim) {
  Request request;
  auto& one = *request.add_claims();
  one.set_namespace_(claim.ns);
  one.set_uid(claim.uid);
  one.set_name(claim.name);
  return request;
}

}  // namespace

Result<std::string> AskAny(const std::string& socket, const std::string& method,
                           const std::string& request) {
  TRY_ASSIGN(const int connection, ConnectTo(socket));
  grpc::GenericStub stub(grpc::CreateInsecureChannelFromFd("localhost", connection));
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const grpc::Slice slice(request);
  const auto call = stub.PrepareUnaryCall(&context, method, grpc::ByteBuffer(&slice, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  CHECK(queue.Next(&tag, &ok));
  if (!status.ok()) {
    return Fail(KindOf(status.error_code()), status.error_message());
  }
  std::vector<grpc::Slice> slices;
  CHECK(response.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& one : slices) {
    bytes.append(reinterpret_cast<const char*>(one.begin()), one.size());
  }
  return bytes;
}

Result<DriverInfo> AskInfo(const std::string& registration_socket) {
  TRY_ASSIGN(const std::string bytes,
             AskAny(registration_socket, "/pluginregistration.Registration/GetInfo", ""));
  pluginregistration::PluginInfo info;
  CHECK(info.ParseFromString(bytes));
  return DriverInfo{
      .type = info.type(),
      .name = info.name(),
      .endpoint = info.endpoint(),
      .versions = {info.supported_versions().begin(), info.supported_versions().end()}};
}

Status TellRegistered(const std::string& registration_socket, const std::string& error) {
  pluginregistration::RegistrationStatus status;
  status.set_plugin_registered(error.empty());
  status.set_error(error);
  TRY(AskAny(registration_socket, "/pluginregistration.Registration/NotifyRegistrationStatus",
             status.SerializeAsString()));
  return {};
}

Result<std::vector<PreparedDevice>> AskPrepare(const std::string& socket,
                                               const std::string& version, const Claim& claim) {
  TRY_ASSIGN(const std::string bytes,
             AskAny(socket, Method(version, "NodePrepareResources"),
                    RequestFor<message::NodePrepareResourcesRequest>(claim).SerializeAsString()));
  message::NodePrepareResourcesResponse response;
  CHECK(response.ParseFromString(bytes));
  CHECK(response.claims_size() == 1 && response.claims().contains(claim.uid));
  const auto& one = response.claims().at(claim.uid);
  if (!one.error().empty()) {
    return Fail(ErrorKind::kInternal, one.error());
  }
  std::vector<PreparedDevice> devices;
  for (const auto& device : one.devices()) {
    devices.push_back(
        {.requests = {device.request_names().begin(), device.request_names().end()},
         .pool = device.pool_name(),
         .device = device.device_name(),
         .cdi_ids = {device.cdi_device_ids().begin(), device.cdi_device_ids().end()}});
  }
  return devices;
}

Status AskUnprepare(const std::string& socket, const std::string& version, const Claim& claim) {
  TRY_ASSIGN(const std::string bytes,
             AskAny(socket, Method(version, "NodeUnprepareResources"),
                    RequestFor<message::NodeUnprepareResourcesRequest>(claim).SerializeAsString()));
  message::NodeUnprepareResourcesResponse response;
  CHECK(response.ParseFromString(bytes));
  CHECK(response.claims_size() == 1 && response.claims().contains(claim.uid));
  const auto& error = response.claims().at(claim.uid).error();
  return error.empty() ? Status{} : Fail(ErrorKind::kInternal, error);
}

}  // namespace gantry::kubelet::dra
