// SPDX-License-Identifier: Apache-2.0

// Is it still the same driver? One hash over all its settings tells. NVIDIA's operator hashes Go's
// spew output of its own structures, so that output is built here: fields by name, each as
// "(type)value", and a list as "([]type)[value value]".

#include "operator/desired/driver_digest.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "operator/desired/pod.h"

namespace gantry::gpu_operator {
namespace {

std::string Printed(const std::string& text) { return "(string)" + text; }
std::string Printed(bool value) { return value ? "(bool)true" : "(bool)false"; }

std::string Printed(const std::pair<std::string, std::string>& variable) {
  return format("{{Name:{} Value:{}}}", Printed(variable.first), Printed(variable.second));
}

std::string Printed(const DriverConfig::VolumeOf& volume) {
  return format("{{Name:{} ConfigMapName:{} SecretName:{} HostPath:{}}}", Printed(volume.name),
                Printed(volume.config_map), Printed(volume.secret), Printed(volume.host_path));
}

std::string Printed(const DriverConfig::MountOf& mount) {
  return format("{{Name:{} MountPath:{} SubPath:{} ReadOnly:{}}}", Printed(mount.name),
                Printed(mount.path), Printed(mount.sub_path), Printed(mount.read_only));
}

// The hashed text.
class Text {
 public:
  void Add(const char* name, const std::string& value) {
    if (!value.empty()) {
      fields_[name] = Printed(value);
    }
  }
  void Add(const char* name, bool value) {
    if (value) {
      fields_[name] = Printed(value);
    }
  }
  void Add(const char* name, const std::vector<std::string>& values) {
    if (!values.empty()) {
      fields_[name] = format("([]string)[{}]", Join(values, " "));
    }
  }
  template <typename Item>
  void AddList(const char* name, const char* type, const std::vector<Item>& items) {
    std::vector<std::string> printed;
    printed.reserve(items.size());
    for (const Item& item : items) {
      printed.push_back(Printed(item));
    }
    if (!printed.empty()) {
      fields_[name] = format("([]config.{})[{}]", type, Join(printed, " "));
    }
  }
  // In the order of the fields' names.
  [[nodiscard]] std::string Whole() const {
    std::string text;
    for (const auto& [name, value] : fields_) {
      text += format("{}:{}", name, value);
    }
    return text;
  }

 private:
  std::map<std::string, std::string> fields_;
};

DriverConfig::Variables VariablesOf(const Json& container) {
  DriverConfig::Variables variables;
  for (const Json& variable : ListAt(container, "env")) {
    if (!variable.contains("valueFrom")) {
      variables.emplace_back(TextAt(variable, "name"), TextAt(variable, "value"));
    }
  }
  std::ranges::sort(variables);
  return variables;
}

std::vector<DriverConfig::MountOf> MountsOf(const Json& container) {
  std::vector<DriverConfig::MountOf> mounts;
  for (const Json& mount : ListAt(container, "volumeMounts")) {
    mounts.push_back({TextAt(mount, "name"), TextAt(mount, "mountPath"), TextAt(mount, "subPath"),
                      BoolAt(mount, "readOnly", false)});
  }
  return mounts;
}

std::vector<DriverConfig::VolumeOf> VolumesOf(const Json& pod_spec) {
  std::vector<DriverConfig::VolumeOf> volumes;
  for (const Json& volume : ListAt(pod_spec, "volumes")) {
    volumes.push_back({TextAt(volume, "name"), TextAt(volume, "configMap.name"),
                       TextAt(volume, "secret.secretName"), TextAt(volume, "hostPath.path")});
  }
  return volumes;
}

void SortVolumes(DriverConfig& config) {
  std::ranges::sort(config.additional_volumes, {}, &DriverConfig::VolumeOf::name);
  std::ranges::sort(config.additional_volume_mounts, {},
                    [](const auto& mount) { return std::pair(mount.name, mount.path); });
}

// NVIDIA's name of a volume that a driver requests: files of a ConfigMap have its name. Empty:
// every driver's pod has it.
std::string AdditionalName(const DriverConfig::VolumeOf& volume) {
  const std::string& name = volume.name;
  if (name == "repo-config" || name == "cert-config" || name == "kernel-module-config") {
    return volume.config_map;
  }
  const bool additional = name == "licensing-config" || name == "topology-config" ||
                          name.starts_with("subscription-config-");
  return additional ? name : "";
}

}  // namespace

std::string DigestOf(const DriverConfig& config) {
  Text text;
  text.Add("DriverImage", config.driver_image);
  text.Add("DriverManagerImage", config.driver_manager_image);
  text.Add("PeermemImage", config.peermem_image);
  text.Add("GDSImage", config.gds_image);
  text.Add("GDRCopyImage", config.gdrcopy_image);
  text.Add("DTKImage", config.dtk_image);
  text.Add("DriverType", config.driver_type);
  text.Add("KernelModuleType", config.kernel_module_type);
  text.Add("DriverCommand", config.driver_command);
  text.Add("DriverArgs", config.driver_args);
  text.AddList("DriverEnv", "EnvVar", config.driver_env);
  text.AddList("ManagerEnv", "EnvVar", config.manager_env);
  text.AddList("GDSEnv", "EnvVar", config.gds_env);
  text.AddList("GDRCopyEnv", "EnvVar", config.gdrcopy_env);
  text.Add("SecretEnvSource", config.secret_env_source);
  text.Add("GPUDirectRDMAEnabled", config.gpu_direct_rdma);
  text.Add("UseHostMOFED", config.use_host_mofed);
  text.Add("GDSEnabled", config.gds);
  text.Add("GDRCopyEnabled", config.gdrcopy);
  text.Add("LicensingConfigName", config.licensing_config);
  text.Add("VirtualTopologyConfig", config.virtual_topology_config);
  text.Add("KernelModuleConfig", config.kernel_module_config);
  text.Add("RepoConfig", config.repo_config);
  text.Add("CertConfig", config.cert_config);
  text.Add("UsePrecompiled", config.use_precompiled);
  text.Add("KernelVersion", config.kernel_version);
  text.Add("OpenshiftVersion", config.openshift_version);
  text.Add("DTKEnabled", config.dtk);
  text.Add("RHCOSVersion", config.rhcos_version);
  text.Add("HTTPProxy", config.http_proxy);
  text.Add("HTTPSProxy", config.https_proxy);
  text.Add("NoProxy", config.no_proxy);
  text.Add("TrustedCAConfigMapName", config.trusted_ca_config_map);
  text.AddList("AdditionalVolumes", "VolumeConfig", config.additional_volumes);
  text.AddList("AdditionalVolumeMounts", "VolumeMountConfig", config.additional_volume_mounts);
  text.Add("HostRoot", config.host_root);
  return HashText(text.Whole());
}

DriverConfig DriverConfigOf(const Json& pod_spec) {
  DriverConfig config;
  for (const Json& container : ListAt(pod_spec, "initContainers")) {
    if (TextAt(container, "name") == "k8s-driver-manager") {
      config.driver_manager_image = TextAt(container, "image");
      config.manager_env = VariablesOf(container);
    }
  }
  for (const Json& container : ListAt(pod_spec, "containers")) {
    const std::string name = TextAt(container, "name");
    const std::string image = TextAt(container, "image");
    if (name == "nvidia-driver-ctr") {
      config.driver_image = image;
      config.driver_command = TextsAt(container, "command");
      config.driver_args = TextsAt(container, "args");
      config.driver_env = VariablesOf(container);
      for (const Json& source : ListAt(container, "envFrom")) {
        if (const std::string secret = TextAt(source, "secretRef.name"); !secret.empty()) {
          config.secret_env_source = secret;
        }
      }
      config.additional_volume_mounts = MountsOf(container);
    } else if (name == "nvidia-peermem-ctr") {
      config.peermem_image = image;
      config.gpu_direct_rdma = true;
    } else if (name == "nvidia-fs-ctr") {
      config.gds_image = image;
      config.gds = true;
      config.gds_env = VariablesOf(container);
    } else if (name == "nvidia-gdrcopy-ctr") {
      config.gdrcopy_image = image;
      config.gdrcopy = true;
      config.gdrcopy_env = VariablesOf(container);
    } else if (name == "openshift-driver-toolkit-ctr") {
      config.dtk_image = image;
      config.dtk = true;
    }
  }
  config.additional_volumes = VolumesOf(pod_spec);
  for (const DriverConfig::VolumeOf& volume : config.additional_volumes) {
    if (volume.name == "host-root") {
      config.host_root = volume.host_path;
    }
  }
  SortVolumes(config);
  return config;
}

DriverConfig DriverConfigOf(const Json& pod_spec, DriverConfig asked) {
  const DriverConfig pod = DriverConfigOf(pod_spec);
  asked.driver_image = pod.driver_image;
  asked.driver_manager_image = pod.driver_manager_image;
  asked.peermem_image = pod.peermem_image;
  asked.gds_image = pod.gds_image;
  asked.gdrcopy_image = pod.gdrcopy_image;
  for (auto* variables :
       {&asked.driver_env, &asked.manager_env, &asked.gds_env, &asked.gdrcopy_env}) {
    std::ranges::sort(*variables);
  }
  std::map<std::string, std::string> names;
  for (DriverConfig::VolumeOf volume : pod.additional_volumes) {
    if (const std::string name = AdditionalName(volume); !name.empty()) {
      names[volume.name] = name;
      volume.name = name;
      asked.additional_volumes.push_back(std::move(volume));
    }
  }
  for (DriverConfig::MountOf mount : pod.additional_volume_mounts) {
    if (const auto found = names.find(mount.name); found != names.end()) {
      mount.name = found->second;
      asked.additional_volume_mounts.push_back(std::move(mount));
    }
  }
  SortVolumes(asked);
  return asked;
}

}  // namespace gantry::gpu_operator
