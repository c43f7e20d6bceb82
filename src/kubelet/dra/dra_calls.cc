// SPDX-License-Identifier: Apache-2.0
// How does a driver answer the kubelet's calls? The kubelet takes the first of the versions that it
// knows. One failed claim does not fail the others of a call.
#include "kubelet/dra/dra_calls.h"

#include "base/text.h"
#include "dra_v1.pb.h"
#include "plugin_registration_v1.pb.h"

namespace gantry::kubelet::dra {
namespace {

namespace message = k8s::io::kubelet::pkg::apis::dra::v1;

constexpr std::string_view kRegistration = "/pluginregistration.Registration/";
constexpr std::string_view kV1 = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/";
constexpr std::string_view kV1Beta1 = "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/";

Status Parse(google::protobuf::MessageLite& into, const std::string& request) {
  return into.ParseFromString(request)
             ? Status{}
             : Fail(ErrorKind::kInvalid, "read the kubelet's request: it is no message");
}

std::string GetInfo(const DraCalls& calls) {
  pluginregistration::PluginInfo info;
  info.set_type("DRAPlugin");
  info.set_name(calls.driver);
  info.set_endpoint(calls.endpoint);
  info.add_supported_versions("v1.DRAPlugin");
  info.add_supported_versions("v1beta1.DRAPlugin");
  return info.SerializeAsString();
}

Result<std::string> Notify(const DraCalls& calls, const std::string& request) {
  pluginregistration::RegistrationStatus status;
  TRY(Parse(status, request));
  calls.on_registration(
      status.plugin_registered()
          ? Status{}
          : Fail(ErrorKind::kUnavailable, "register with the kubelet: " + status.error()));
  return "";
}

Claim ToClaim(const message::Claim& claim) {
  return {.ns = claim.namespace_(), .uid = claim.uid(), .name = claim.name()};
}

Result<std::string> Prepare(const DraCalls& calls, const std::string& request) {
  message::NodePrepareResourcesRequest asked;
  TRY(Parse(asked, request));
  message::NodePrepareResourcesResponse response;
  for (const auto& claim : asked.claims()) {
    auto& out = (*response.mutable_claims())[claim.uid()];
    const auto prepared = calls.handler->Prepare(ToClaim(claim));
    if (!prepared.has_value()) {
      out.set_error(prepared.error().message);
      continue;
    }
    for (const PreparedDevice& device : *prepared) {
      auto& one = *out.add_devices();
      one.mutable_request_names()->Assign(device.requests.begin(), device.requests.end());
      one.set_pool_name(device.pool);
      one.set_device_name(device.device);
      one.mutable_cdi_device_ids()->Assign(device.cdi_ids.begin(), device.cdi_ids.end());
    }
  }
  return response.SerializeAsString();
}

Result<std::string> Unprepare(const DraCalls& calls, const std::string& request) {
  message::NodeUnprepareResourcesRequest asked;
  TRY(Parse(asked, request));
  message::NodeUnprepareResourcesResponse response;
  for (const auto& claim : asked.claims()) {
    auto& out = (*response.mutable_claims())[claim.uid()];
    if (const Status done = calls.handler->Unprepare(ToClaim(claim)); !done.has_value()) {
      out.set_error(done.error().message);
    }
  }
  return response.SerializeAsString();
}

}  // namespace

Result<std::string> AnswerCall(const DraCalls& calls, std::string_view method,
                               const std::string& request) {
  std::string_view name = method;
  name.remove_prefix(name.rfind('/') + 1);
  const std::string_view service = method.substr(0, method.size() - name.size());
  if (service == kRegistration && name == "GetInfo") {
    return GetInfo(calls);
  }
  if (service == kRegistration && name == "NotifyRegistrationStatus") {
    return Notify(calls, request);
  }
  if ((service == kV1 || service == kV1Beta1) && name == "NodePrepareResources") {
    return Prepare(calls, request);
  }
  if ((service == kV1 || service == kV1Beta1) && name == "NodeUnprepareResources") {
    return Unprepare(calls, request);
  }
  return Fail(ErrorKind::kUnsupported, format("{}: no such method", method));
}

}  // namespace gantry::kubelet::dra
