// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "operator/monitoring_kinds.h"
#include "operator/openshift.h"
#include "operator/system_facts.h"
#include "policy/cluster_policy.h"
#include "policy/image.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {

// What the objects of an operand are made from.
struct Context {
  policy::ClusterPolicy policy;
  std::string space;        // the operator's namespace, in which all operands run
  std::string image;        // of this release
  std::string pull_policy;  // of that image, where the policy says nothing
  std::vector<std::string> pull_secrets = {};  // names of Secrets, for that image
  std::string runtime = "containerd";
  Json owners = Json::array();      // ownerReferences to the policies that count
  std::string worker_config = {};   // of node feature discovery's workers, as YAML
  Json worker_pod = {};             // what is asked for of these workers' pods
  std::string driver_manager = {};  // NVIDIA's image of it, where the policy names none
  std::string cuda_image = {};      // NVIDIA's images of CUDA, without a tag, likewise
  SystemFacts system = {};          // for which a driver's DaemonSet is being made
  DriverParts drivers = {};         // DaemonSets of the policy's driver
  DriverParts host_drivers = {};    // the same of its vGPU manager
  std::string state = {};           // of names::kOperandState on every object; empty: none
  MonitoringKinds monitoring = {};
  OpenShift openshift = {};
  // Keys of the ConfigMaps of the namespace that the policy names, of those that are there.
  std::map<std::string, std::vector<std::string>> config_maps = {};
  bool operator==(const Context&) const = default;
};

using Objects = std::vector<Json>;

// The objects of each operand; the image is the chosen one. One file each in this folder.
Objects NodeFeatures(const Context& context, const std::string& image);
Objects PreRequisites(const Context& context, const std::string& image);
Objects OperatorMetrics(const Context& context, const std::string& image);
Objects ContainerToolkit(const Context& context, const std::string& image);
Objects OperatorValidator(const Context& context, const std::string& image);
Objects DevicePlugin(const Context& context, const std::string& image);
Objects MpsControlDaemon(const Context& context, const std::string& image);
Objects GpuFeatureDiscovery(const Context& context, const std::string& image);
Objects NodeStatusExporter(const Context& context, const std::string& image);
Objects DcgmExporter(const Context& context, const std::string& image);

// The same of one that a policy can ask for in vain: kInvalid names the field.
Result<Objects> CudaToolkit(const Context& context, const std::string& image);

// The same of operands that run NVIDIA's image. kInvalid: why they can't be made, with the field.
Result<Objects> Driver(const Context& context, const std::string& image);
Result<Objects> NvidiaContainerToolkit(const Context& context, const std::string& image);
Result<Objects> NvidiaOperatorValidator(const Context& context, const std::string& image);
Result<Objects> NvidiaDevicePlugin(const Context& context, const std::string& image);
Result<Objects> NvidiaMpsControlDaemon(const Context& context, const std::string& image);
Result<Objects> NvidiaGpuFeatureDiscovery(const Context& context, const std::string& image);
Result<Objects> NvidiaNodeStatusExporter(const Context& context, const std::string& image);
Result<Objects> Dcgm(const Context& context, const std::string& image);
Result<Objects> NvidiaDcgmExporter(const Context& context, const std::string& image);
Result<Objects> MigManager(const Context& context, const std::string& image);
Result<Objects> VgpuManager(const Context& context, const std::string& image);
Result<Objects> VgpuDeviceManager(const Context& context, const std::string& image);
Result<Objects> SandboxValidator(const Context& context, const std::string& image);
Result<Objects> VfioManager(const Context& context, const std::string& image);
Result<Objects> SandboxDevicePlugin(const Context& context, const std::string& image);
Result<Objects> KataSandboxDevicePlugin(const Context& context, const std::string& image);
Result<Objects> CcManager(const Context& context, const std::string& image);

// A kernel release as NVIDIA's DaemonSets of precompiled drivers have it in their names: without
// the machine, with dots.
std::string ShortKernel(std::string_view kernel);
// The same with the machine, which tells kernels of several architectures and page sizes apart.
std::string DottedKernel(std::string_view kernel);

// The DaemonSet that puts every node with GPUs back as it was; its pods are Ready when that is
// done.
Json HostCleanup(const Context& context);

// What one operand comes to.
struct DesiredOperand {
  const policy::Operand* operand = nullptr;
  bool wanted = false;
  bool available = false;     // part of this release, and the policy has what it needs to run
  policy::ImageChoice image;  // empty for operands without a DaemonSet
  bool theirs = false;        // it is NVIDIA's, where this release has one too
  Objects objects;            // none unless wanted and available
  std::string mistake;        // why its objects can't be made; what is there of them stays
  bool partly = false;        // nodes are left out; what is there for them stays
};
// Whether its objects are all that there are to be. Not with a mistake, and not while no node says
// which system its DaemonSet is to be made for: then what is there of it stays, too.
bool IsWhole(const DesiredOperand& operand);

// The ConfigMaps that the policy names and whose being there, or keys, matter to the objects.
std::set<std::string> NamedConfigMaps(const policy::ClusterPolicy& policy);

// All operands in order. `node_features`: whether ours is to run (no other node feature discovery).
std::vector<DesiredOperand> DesiredOperands(const Context& context, bool node_features);

}  // namespace gantry::gpu_operator
