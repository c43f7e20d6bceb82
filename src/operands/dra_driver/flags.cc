// SPDX-License-Identifier: Apache-2.0
// Which flags and variables does the driver have? Flags, aliases, variables and feature gates are
// those of NVIDIA's gpu-kubelet-plugin (v0.5), and --pod-resources-socket,
// --device-plugin-directory and --wait-for-validations. A gate that would need what this version
// does not serve is refused: claims would wait for it.
#include "operands/dra_driver/flags.h"

#include <string_view>

#include "agent/flags.h"
#include "base/text.h"
#include "kubelet/folders.h"
#include "policy/dra_gates.h"

namespace gantry::dra_driver {

Status CheckFeatureGates(const std::string& gates) {
  for (const std::string& gate : Split(gates, ',')) {
    const size_t equals = gate.find('=');
    const std::string_view name = Trim(std::string_view(gate).substr(0, equals));
    const auto value = equals == std::string::npos
                           ? Fail(ErrorKind::kInvalid, "no value")
                           : ParseBool(Trim(std::string_view(gate).substr(equals + 1)));
    const policy::DraGate gate_is = policy::DraGateNamed(name);
    if (gate_is == policy::DraGate::kUnknown) {
      return Fail(ErrorKind::kInvalid, format("feature-gates: unknown gate {}", name));
    }
    if (!value.has_value()) {
      return Fail(ErrorKind::kInvalid, format("feature-gates: {} must be true or false", name));
    }
    if (*value && gate_is == policy::DraGate::kNotServed) {
      return Fail(
          ErrorKind::kUnsupported,
          format("feature-gates: {} is not supported; remove it or set {}=false", name, name));
    }
  }
  return {};
}

Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv) {
  agent::FlagSet set(kProgram, "Offers the GPUs of this node to resource claims.");
  Flags flags;
  set.Value("--node-name", flags.node_name, {"NODE_NAME"}, "name of this Node")->required();
  set.Value("--kubeconfig", flags.kubeconfig, {"KUBECONFIG"}, "empty: the pod's service account");
  set.Value("--cdi-root", flags.cdi_root, {"CDI_ROOT"}, "folder of the CDI documents")
      ->default_val("/etc/cdi");
  set.Value("--nvidia-driver-root,--host_driver-root", flags.driver_root,
            {"NVIDIA_DRIVER_ROOT", "HOST_DRIVER_ROOT"}, "root of the driver on the host")
      ->default_val("/");
  set.Value("--container-driver-root", flags.container_driver_root, {"DRIVER_ROOT_CTR_PATH"},
            "where the driver root is mounted here")
      ->default_val("/driver-root");
  set.Value("--host-root", flags.host_root, {"HOST_ROOT"}, "where the host's root is mounted here")
      ->default_val("/host-root");
  set.Value("--nvidia-cdi-hook-path", flags.cdi_hook, {"NVIDIA_CDI_HOOK_PATH"},
            "path on the host of the program that CDI documents name; empty: a copy of Gantry's");
  set.Value("--kubelet-registrar-directory-path", flags.registry,
            {"KUBELET_REGISTRAR_DIRECTORY_PATH"}, "the kubelet's folder of registrations")
      ->default_val("/var/lib/kubelet/plugins_registry");
  set.Value("--kubelet-plugins-directory-path", flags.plugins, {"KUBELET_PLUGINS_DIRECTORY_PATH"},
            "the kubelet's folder of plugins")
      ->default_val("/var/lib/kubelet/plugins");
  set.Value("--pod-resources-socket", flags.pod_resources, {"POD_RESOURCES_SOCKET"},
            "the kubelet's socket that says what device plugins have")
      ->default_val(kubelet::PodResourcesSocket(names::kKubeletRoot));
  set.Value("--device-plugin-directory", flags.device_plugins, {"DEVICE_PLUGIN_DIRECTORY"},
            "the folder of device plugins' sockets")
      ->default_val(names::kDevicePluginDir);
  set.Value("--consumable-shares", flags.consumable_shares, {"CONSUMABLE_SHARES"}, "disabled")
      ->default_val("disabled");
  set.Value("--feature-gates", flags.feature_gates, {"FEATURE_GATES"}, "A=true,B=false");
  set.Value("--healthcheck-port", flags.healthcheck_port, {"HEALTHCHECK_PORT"}, "must be -1");
  set.Value("--http-endpoint", flags.http_endpoint, {"HTTP_ENDPOINT"}, "must be empty");
  agent::AddStatusFlags(set, flags);
  set.Unused("--namespace", {"NAMESPACE"});
  set.Unused("--image-name", {"IMAGE_NAME"});
  set.Unused("--image-pull-secrets", {"IMAGE_PULL_SECRETS"});
  set.Unused("--image-pull-policy", {"IMAGE_PULL_POLICY"});
  set.Unused("--service-account-name", {"SERVICE_ACCOUNT_NAME"});
  set.Unused("--metrics-path", {"METRICS_PATH"});
  set.Value("--additional-xids-to-ignore", flags.ignored_xids, {"ADDITIONAL_XIDS_TO_IGNORE"},
            "XIDs that leave a GPU in service, as \"13,31\"");
  set.Unused("--kube-api-qps", {"KUBE_API_QPS"});
  set.Unused("--kube-api-burst", {"KUBE_API_BURST"});
  set.Unused("-v,--v", {});
  TRY_ASSIGN(const bool run, set.Parse(argc, argv));
  if (!run) {
    return std::nullopt;
  }
  TRY(CheckFeatureGates(flags.feature_gates));
  if (flags.consumable_shares != "disabled") {
    return Fail(ErrorKind::kUnsupported,
                "consumable-shares: shares of a GPU are not supported; set it to disabled");
  }
  if (flags.healthcheck_port != -1) {
    return Fail(ErrorKind::kUnsupported, "healthcheck-port: not supported; set it to -1");
  }
  if (!flags.http_endpoint.empty()) {
    return Fail(ErrorKind::kUnsupported, "http-endpoint: not supported; leave it empty");
  }
  return flags;
}

}  // namespace gantry::dra_driver
