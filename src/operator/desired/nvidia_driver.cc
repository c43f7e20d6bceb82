// SPDX-License-Identifier: Apache-2.0

// Which objects does a NVIDIADriver need? For each pool of its nodes those of a ClusterPolicy's
// driver, made by the same code, with names that distinguish drivers and pools.

#include "operator/desired/nvidia_driver.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "operator/desired/driver_set.h"
#include "operator/desired/driver_toolkit.h"
#include "operator/desired/kernel_name.h"
#include "operator/desired/pod.h"
#include "operator/desired/security_constraints.h"
#include "policy/image.h"
#include "policy/names.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {
namespace {

constexpr std::string_view kHostManager = "vgpu-host-manager";
constexpr std::string_view kHostManagerComponent = "nvidia-vgpu-host-manager";

std::string AccountName(const NamedDriver& driver, const SystemFacts& system) {
  constexpr size_t kLongest = 253;
  const std::string name =
      driver.spec.type == kHostManager
          ? format("nvidia-vgpu-manager-{}-{}", driver.name, system.tag)
          : format("nvidia-{}-driver-{}-{}", driver.spec.type, driver.name, system.tag);
  return FitName(name, "", kLongest, name);
}

std::string SetName(const NamedDriver& driver, const SystemFacts& system) {
  constexpr size_t kLongest = 63;
  std::string hashed = driver.uid;
  if (!system.kernels.empty()) {
    hashed += "-" + system.kernels.front();
  }
  return FitName(format("nvidia-{}-driver-{}", driver.spec.type, system.tag),
                 "-" + ShortHash(hashed), kLongest, system.tag);
}

DriverSetting SettingOf(const NamedDriver& driver, const DriverPool& pool) {
  const bool host_manager = driver.spec.type == kHostManager;
  DriverSetting setting;
  setting.account = AccountName(driver, pool.system);
  setting.name = setting.app = SetName(driver, pool.system);
  setting.apart = {names::kDriverComponent, std::string(kHostManagerComponent),
                   "nvidia-vgpu-manager"};
  if (host_manager) {
    setting.component = kHostManagerComponent;
  }
  setting.labels["nvidia.com/node.os-version"] = pool.system.tag;
  if (!pool.system.kernels.empty()) {
    setting.kernel = pool.system.kernels.front();
    setting.labels["nvidia.com/precompiled.kernel-version"] = ShortKernel(setting.kernel);
  }
  setting.nodes = pool.nodes;
  setting.env = {{names::kVisibleDevices, "void"}};
  setting.host_manager = host_manager;
  setting.section = "";
  setting.repo_field = "repoConfig.name";
  return setting;
}

DriverConfig AskedOf(const Context& context, const policy::NvidiaDriver& spec,
                     const DriverPool& pool) {
  const policy::DriverOptions& options = spec.options;
  DriverConfig asked;
  asked.driver_type = spec.type;
  asked.kernel_module_type = options.kernel_module_type;
  asked.driver_args = spec.driver.args;
  asked.driver_env = spec.driver.env;
  asked.manager_env = options.manager.env;
  asked.secret_env_source = options.secret_env;
  asked.gpu_direct_rdma = options.rdma;
  asked.use_host_mofed = options.rdma && options.host_mofed;
  if (spec.gds.enabled) {
    asked.gds = true;
    asked.gds_env = spec.gds.env;
  }
  if (spec.gdrcopy.enabled) {
    asked.gdrcopy = true;
    asked.gdrcopy_env = spec.gdrcopy.env;
  }
  asked.licensing_config = options.licensing_secret;  // a ConfigMap counts by its volume
  asked.virtual_topology_config = options.topology_config;
  asked.kernel_module_config = options.kernel_module_config;
  asked.repo_config = options.repo_config;
  asked.cert_config = options.cert_config;
  if (!pool.system.kernels.empty()) {
    asked.use_precompiled = true;
    asked.kernel_version = pool.system.kernels.front();
  }
  asked.openshift_version = context.openshift.version;
  if (context.openshift.present() && !options.precompiled) {
    const ClusterProxy& proxy = context.openshift.proxy;
    asked.http_proxy = proxy.http;
    asked.https_proxy = proxy.https;
    asked.no_proxy = proxy.none_for;
    asked.trusted_ca_config_map = proxy.trusted_ca ? names::kTrustedCa : "";
  }
  asked.host_root = context.policy.host_root;
  return asked;
}

}  // namespace

Result<Objects> NvidiaDriverObjects(const Context& context, const NamedDriver& driver,
                                    const DriverPool& pool) {
  const policy::NvidiaDriver& spec = driver.spec;
  Context own = context;
  own.system = pool.system;
  own.state = policy::OperandOf(policy::OperandId::kDriver).state;
  own.policy.pod_labels = spec.pod_labels;
  own.policy.pod_annotations = spec.pod_annotations;
  own.policy.tolerations = spec.tolerations;
  own.policy.priority_class = spec.priority_class;
  own.policy.pod_security_context = spec.pod_security_context;
  own.policy.driver = spec.driver;
  own.policy.gds = spec.gds;
  own.policy.gdrcopy = spec.gdrcopy;
  own.policy.driver_options = spec.options;
  if (!spec.driver.args.empty()) {
    own.policy.driver.args.insert(own.policy.driver.args.begin(), "init");
  }
  DriverSetting setting = SettingOf(driver, pool);
  setting.asked = AskedOf(own, spec, pool);
  TRY_ASSIGN(const policy::ImageChoice image, policy::ChooseImage(spec.driver.image, "", ""));
  Objects objects = DriverAccount(own, setting);
  AddConstraints(objects, own, policy::OperandOf(policy::OperandId::kDriver).constraints,
                 setting.account);
  TRY_ASSIGN(Json set, DriverSet(own, setting, image.image));
  objects.push_back(std::move(set));
  return objects;
}

Objects NvidiaDriversShare(const Context& context, const Json& owners) {
  Context own = context;
  own.owners = owners;
  own.state = policy::OperandOf(policy::OperandId::kDriver).state;
  own.policy.driver_options = {};  // of the ClusterPolicy's driver
  Objects objects = {DriverProbe(own, DriverSetting{.app = ""})};
  if (AsksForTrustedCa(own)) {
    objects.push_back(TrustedCa(own));
  }
  return objects;
}

std::set<std::string> NamedConfigMaps(const policy::NvidiaDriver& driver) {
  std::set<std::string> names = {driver.options.kernel_module_config, driver.options.repo_config,
                                 driver.options.cert_config};
  names.erase("");
  return names;
}

}  // namespace gantry::gpu_operator
