// SPDX-License-Identifier: Apache-2.0

// What does DCGM run with? NVIDIA's image: a server on each node for that node only, so the Service
// keeps traffic local. It needs GPUs and no API server.

#include "operator/desired/makers.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {

Result<Objects> Dcgm(const Context& context, const std::string& image) {
  constexpr std::string_view kName = "nvidia-dcgm";
  constexpr int kPort = 5555;
  const policy::OperandSpec& spec = context.policy.dcgm;
  Objects objects = NvidiaAccount(context, kName);

  NvidiaDaemonSet set(context, kName, "nvidia-dcgm-ctr", image, spec);
  set.Annotate("openshift.io/scc", "hostmount-anyuid");
  set.SelectDeployed("dcgm");
  set.UseServiceAccount(kName, false);
  set.UseNvidiaRuntime("nvidia-dcgm-ctr");
  set.HostVolume("run-nvidia-validations", names::kValidationsDir, HostDir::kCreate);
  set.AwaitToolkit();
  set.main()
      .Privileged()
      .Port("dcgm", kPort)
      .Set("livenessProbe", TcpProbe(kPort, 15))
      .Set("readinessProbe", TcpProbe(kPort, 15));
  objects.push_back(set.Finish());

  Json service = NvidiaService(context, kName, "dcgm", kPort);
  service["spec"]["type"] = "ClusterIP";
  service["spec"]["internalTrafficPolicy"] = "Local";
  objects.push_back(std::move(service));
  return objects;
}

}  // namespace gantry::gpu_operator
