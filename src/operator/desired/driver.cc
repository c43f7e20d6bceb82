// SPDX-License-Identifier: Apache-2.0

// What does a driver's container run with? NVIDIA's driver image: its program builds or unpacks the
// kernel modules, loads them and keeps the driver's files at /run/nvidia/driver for all other
// programs. Before it, the driver manager removes an older driver from the node. Pods are replaced
// only when deleted (OnDelete), because each takes every GPU of its node with it. A precompiled
// driver is made for one kernel, so there is a DaemonSet for each.

#include <algorithm>

#include "base/text.h"
#include "operator/desired/driver_digest.h"
#include "operator/desired/driver_files.h"
#include "operator/desired/driver_set.h"
#include "operator/desired/driver_toolkit.h"
#include "operator/desired/makers.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/image.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

constexpr std::string_view kMain = "nvidia-driver-ctr";
constexpr std::string_view kGds = "nvidia-fs-ctr";
constexpr std::string_view kGdrcopy = "nvidia-gdrcopy-ctr";
constexpr std::string_view kPrecompiledLabel = "nvidia.com/precompiled";
constexpr std::string_view kProbeMap = "nvidia-driver-startup-probe";
constexpr std::string_view kProbeFile = "startup-probe.sh";

// The validator reads .driver-ctr-ready: it must be complete from the first moment.
constexpr std::string_view kProbe =
    "#!/bin/sh\n"
    "# Is the driver loaded, and does it answer? Then the validator is told what it brings.\n"
    "[ -f /sys/module/nvidia/refcnt ] || exit 1\n"
    "dir=/run/nvidia/validations\n"
    "if [ -f $dir/.driver-daemons-status ]; then\n"
    "  [ \"$(cat $dir/.driver-daemons-status)\" = Ready ] || exit 1\n"
    "fi\n"
    "nvidia-smi || exit 1\n"
    "mkdir -p $dir\n"
    "for name in GDRCOPY_ENABLED GDS_ENABLED GPU_DIRECT_RDMA_ENABLED; do\n"
    "  eval \"echo \\\"$name: \\${$name:-false}\\\"\"\n"
    "done > $dir/.driver-ctr-ready.new\n"
    "mv $dir/.driver-ctr-ready.new $dir/.driver-ctr-ready\n";

Json CommandProbe(std::initializer_list<const char*> command) {
  return {{"exec", {{"command", Json(command)}}}};
}

Json StartupProbe(const policy::ProbeSpec& asked) {
  Json probe = CommandProbe({"sh", "/usr/local/bin/startup-probe.sh"});
  const auto set = [&](const char* key, long long wanted, long long otherwise) {
    probe[key] = wanted != 0 ? wanted : otherwise;
  };
  set("initialDelaySeconds", asked.initial_delay, 60);
  set("failureThreshold", asked.failure, 120);
  set("successThreshold", asked.success, 1);
  set("periodSeconds", asked.period, 10);
  set("timeoutSeconds", asked.timeout, 60);
  return probe;
}

Json ModuleProbe(std::initializer_list<const char*> command) {
  Json probe = CommandProbe(command);
  probe.update({{"initialDelaySeconds", 10},
                {"failureThreshold", 120},
                {"successThreshold", 1},
                {"periodSeconds", 10},
                {"timeoutSeconds", 10}});
  return probe;
}

void UseRdma(const policy::DriverOptions& options, Container& container) {
  if (options.rdma) {
    container.Env("GPU_DIRECT_RDMA_ENABLED", "true");
    if (options.host_mofed) {
      container.Env("USE_HOST_MOFED", "true");
    }
  }
}

Result<Container*> AddManager(const Context& context, const DriverSetting& setting,
                              NvidiaDaemonSet& set) {
  const policy::DriverOptions& options = context.policy.driver_options;
  TRY_ASSIGN(Container* const manager,
             set.ManageDriver(options.manager, setting.section + "manager"));
  manager->Env("ENABLE_GPU_POD_EVICTION", "true")
      .Env("DRAIN_USE_FORCE", "false")
      .Env("DRAIN_POD_SELECTOR_LABEL", "")
      .Env("DRAIN_TIMEOUT_SECONDS", "0s")
      .Env("DRAIN_DELETE_EMPTYDIR_DATA", "false")
      .Mount("run-mellanox-drivers", "/run/mellanox/drivers", kFromHost)
      .Resources(context.policy.driver.resources);
  UseRdma(options, *manager);
  manager->Env(options.manager.env);
  return manager;
}

void AddVolumes(const Context& context, NvidiaDaemonSet& set) {
  const policy::DriverOptions& options = context.policy.driver_options;
  set.HostVolume("run-nvidia", "/run/nvidia", HostDir::kCreate);
  set.HostVolume("var-log", "/var/log");
  set.HostVolume("dev-log", "/dev/log");
  set.HostVolume("host-os-release", "/etc/os-release");
  set.HostVolume("run-nvidia-fabricmanager", "/run/nvidia-fabricmanager", HostDir::kCreate);
  set.HostVolume("run-nvidia-topologyd", "/run/nvidia-topologyd", HostDir::kCreate);
  set.HostVolume("mlnx-ofed-usr-src",
                 options.rdma && options.host_mofed ? "/usr/src" : "/run/mellanox/drivers/usr/src",
                 HostDir::kCreate);
  set.HostVolume("run-mellanox-drivers", "/run/mellanox/drivers", HostDir::kCreate);
  set.HostVolume("run-nvidia-validations", names::kValidationsDir, HostDir::kCreate);
  set.HostVolume("host-root", context.policy.host_root);
  set.HostVolume("host-sys", "/sys", HostDir::kDirectory);
  set.HostVolume("firmware-search-path", "/sys/module/firmware_class/parameters/path");
  set.HostVolume("host-sys-devices-system", "/sys/devices/system", HostDir::kDirectory);
  set.HostVolume("nv-firmware", "/run/nvidia/driver/lib/firmware", HostDir::kCreate);
  set.Volume("driver-startup-probe-script", "configMap",
             {{"name", kProbeMap}, {"defaultMode", 0755}});
}

void FillMain(const Context& context, const DriverSetting& setting, NvidiaDaemonSet& set) {
  const policy::ClusterPolicy& policy = context.policy;
  const policy::DriverOptions& options = policy.driver_options;
  Container& main = set.main();
  main.Command({"nvidia-driver"});
  if (policy.driver.args.empty()) {
    main.Args({"init"});
  }
  main.PrivilegedAtLevel0()
      .Env(setting.env)
      .EnvFromField(names::kNodeName, "spec.nodeName")
      .EnvFromField("NODE_IP", "status.hostIP")
      .Mount("run-nvidia", "/run/nvidia", kBothWays)
      .Mount("run-nvidia-fabricmanager", "/run/nvidia-fabricmanager")
      .Mount("run-nvidia-topologyd", "/run/nvidia-topologyd")
      .Mount("var-log", "/var/log")
      .Mount("dev-log", "/dev/log")
      .Mount("host-os-release", "/host-etc/os-release", kReadOnly)
      .Mount("mlnx-ofed-usr-src", "/run/mellanox/drivers/usr/src", kFromHost)
      .Mount("run-mellanox-drivers", "/run/mellanox/drivers", kFromHost)
      .Mount("host-sys-devices-system", "/sys/devices/system")
      .Mount("firmware-search-path", "/sys/module/firmware_class/parameters/path")
      .Mount("nv-firmware", "/lib/firmware")
      .Mount("driver-startup-probe-script", format("/usr/local/bin/{}", kProbeFile),
             {.sub_path = kProbeFile});
  if (setting.host_manager) {
    set.PodField("terminationGracePeriodSeconds", 120);
    set.HostPath("cgroup", "/sys/fs/cgroup", "/sys/fs/cgroup", HostDir::kAny, false);
    set.HostPath("vfio", "/dev/vfio", "/dev/vfio", HostDir::kAny, false);
  } else {
    main.Set("startupProbe", StartupProbe(options.startup))
        .BeforeStop({"/bin/sh", "-c",
                     "rm -f /run/nvidia/validations/.driver-ctr-ready "
                     "/run/nvidia/validations/.driver-daemons-status"});
  }
  if (!options.kernel_module_type.empty()) {
    main.Env("KERNEL_MODULE_TYPE", options.kernel_module_type);
    if (options.kernel_module_type == "open") {
      main.Env("OPEN_KERNEL_MODULES_ENABLED", "true");
    }
  }
  if (policy.gdrcopy.enabled) {
    main.Env("GDRCOPY_ENABLED", "true");
  }
  if (policy.gds.enabled) {
    main.Env("GDS_ENABLED", "true");
  }
  UseRdma(options, main);
}

Container& Sidecar(NvidiaDaemonSet& set, std::string_view name, const std::string& image,
                   const MountAs& run_nvidia) {
  return set.AddContainer(name, image)
      .PrivilegedAtLevel0()
      .Mount("run-nvidia", "/run/nvidia", run_nvidia)
      .Mount("var-log", "/var/log")
      .Mount("dev-log", "/dev/log", kReadOnly);
}

// A container that builds a module for the driver, once the driver is loaded.
Status AddModule(const Context& context, NvidiaDaemonSet& set, const policy::OperandSpec& spec,
                 std::string_view section, std::string_view name, const char* program,
                 const char* loaded) {
  if (!spec.enabled) {
    return {};
  }
  if (context.policy.driver_options.precompiled) {
    return Fail(ErrorKind::kInvalid,
                format("spec.{}.enabled: not with driver.usePrecompiled", section));
  }
  TRY_ASSIGN(const policy::ImageChoice image, policy::ChooseImage(spec.image, "", section));
  const std::string script = format(
      "until [ -d /run/nvidia/driver/usr/src ] && lsmod | grep -qw ^nvidia; do sleep 10; done\n"
      "exec {} install\n",
      program);
  Container& container = Sidecar(set, name, ForSystem(image.image, context.system), kFromHost)
                             .Command({"bash", "-xc"})
                             .Args({script.c_str()})
                             .Set("startupProbe", ModuleProbe({"sh", "-c", loaded}))
                             .Env(spec.env)
                             .Resources(context.policy.driver.resources);
  set.SetPullPolicy(container, spec.image);
  set.AddPullSecrets(spec.image.pull_secrets);
  return {};
}

Status AddSidecars(const Context& context, const DriverSetting& setting, NvidiaDaemonSet& set,
                   Container** peermem) {
  const policy::ClusterPolicy& policy = context.policy;
  if (policy.driver_options.rdma) {
    const char* probe = "nvidia-driver probe_nvidia_peermem";
    Json alive = CommandProbe({"sh", "-c", probe});
    alive.update({{"periodSeconds", 30},
                  {"initialDelaySeconds", 30},
                  {"failureThreshold", 1},
                  {"successThreshold", 1},
                  {"timeoutSeconds", 10}});
    *peermem = &Sidecar(set, "nvidia-peermem-ctr", set.main().image(), kBothWays)
                    .Command({"nvidia-driver"})
                    .Args({"reload_nvidia_peermem"})
                    .Env(setting.env)
                    .Mount("run-mellanox-drivers", "/run/mellanox/drivers", kFromHost)
                    .Set("startupProbe", ModuleProbe({"sh", "-c", probe}))
                    .Set("livenessProbe", std::move(alive))
                    .Resources(policy.driver.resources);
  }
  TRY(AddModule(context, set, policy.gds, "gds", kGds, "nvidia-gds-driver",
                "lsmod | grep nvidia_fs"));
  return AddModule(context, set, policy.gdrcopy, "gdrcopy", kGdrcopy, "nvidia-gdrcopy-driver",
                   "lsmod | grep gdrdrv");
}

// The containers that fetch packages and compile, with their mounts.
std::vector<Container*> Builders(const policy::DriverOptions& options, NvidiaDaemonSet& set) {
  std::vector<Container*> builders = {&set.main()};
  for (const std::string_view name : {kGds, kGdrcopy}) {
    if (Container* module = set.Find(name); module != nullptr) {
      builders.push_back(module);
    }
  }
  if (!options.secret_env.empty() && !options.precompiled) {
    for (Container* builder : builders) {
      builder->Set("envFrom", {{{"secretRef", {{"name", options.secret_env}}}}});
    }
  }
  return builders;
}

Json Apart(const std::vector<std::string>& components) {
  return {{"podAntiAffinity",
           {{"requiredDuringSchedulingIgnoredDuringExecution",
             Json::array({{{"labelSelector",
                            {{"matchExpressions", Json::array({{{"key", names::kComponent},
                                                                {"operator", "In"},
                                                                {"values", components}}})}}},
                           {"topologyKey", "kubernetes.io/hostname"}}})}}}};
}

}  // namespace

Objects DriverAccount(const Context& context, const DriverSetting& setting) {
  return NvidiaAccount(
      context, setting.account, {},
      {Rule("config.openshift.io", "clusterversions", {"get", "list"}),
       Rule("", "nodes", {"get", "list", "patch", "update", "watch"}),
       Rule("", "pods", {"get", "list", "watch"}), Rule("", "pods/eviction", {"create"}),
       Rule("resource.k8s.io", "resourceclaims", {"get", "list"}),
       Rule("apps", "daemonsets", {"get"})});
}

Json DriverProbe(const Context& context, const DriverSetting& setting) {
  Json probe = ConfigMap(context, kProbeMap, setting.app, {{kProbeFile, kProbe}});
  probe["metadata"]["labels"][names::kComponent] = setting.component;
  return probe;
}

Result<Json> DriverSet(const Context& context, const DriverSetting& setting,
                       const std::string& image) {
  const policy::ClusterPolicy& policy = context.policy;
  const policy::DriverOptions& options = policy.driver_options;
  NvidiaDaemonSet set(context, setting.name, kMain,
                      ForSystem(image, context.system, setting.kernel), policy.driver);
  set.SelectPodsBy("app", setting.app);
  set.LabelOnly("app", setting.app);
  set.LabelOnly(names::kComponent, setting.component);
  set.LabelOnly(kPrecompiledLabel, options.precompiled ? "true" : "false");
  for (const auto& [key, value] : setting.labels) {
    set.LabelOnly(key, value);
  }
  set.Annotate("openshift.io/scc", setting.account);
  set.AnnotatePods("kubectl.kubernetes.io/default-container", kMain);
  set.UpdateOnDelete();
  set.SelectNodes(setting.nodes);
  MarkSystem(setting.nodes, set);
  set.PodField("affinity", Apart(setting.apart));
  set.UseServiceAccount(setting.account, true);
  set.HostPid();
  AddVolumes(context, set);
  TRY_ASSIGN(Container* const manager, AddManager(context, setting, set));
  FillMain(context, setting, set);
  Container* peermem = nullptr;
  TRY(AddSidecars(context, setting, set, &peermem));
  AddLicensing(options, set);
  std::vector<Container*> loaders = {&set.main()};
  if (peermem != nullptr) {
    loaders.push_back(peermem);
  }
  TRY(MountKeys(context, set, loaders, "kernel-module-config", options.kernel_module_config,
                "/drivers", setting.section + "kernelModuleConfig.name"));
  TRY(AddPackageSources(context, set, Builders(options, set),
                        {.repo = setting.repo_field, .cert = setting.section + "certConfig.name"}));
  UseClusterProxy(context, set);
  if (!setting.rhcos.empty()) {
    UseToolkit(context, setting.rhcos, set);
  }
  const Json finished = set.Finish();
  const Json& pod = finished["spec"]["template"]["spec"];
  const std::string digest = DigestOf(
      setting.asked.has_value() ? DriverConfigOf(pod, *setting.asked) : DriverConfigOf(pod));
  manager->Env(names::kDriverConfigDigest, digest);
  set.Env(names::kDriverConfigDigest, digest);
  if (Container* builder = set.Find("openshift-driver-toolkit-ctr"); builder != nullptr) {
    builder->Env(names::kDriverConfigDigest, digest);
  }
  return set.Build();
}

Result<Objects> Driver(const Context& context, const std::string& image) {
  DriverSetting setting;
  Objects objects = DriverAccount(context, setting);
  objects.push_back(DriverProbe(context, setting));
  if (context.drivers.sets.empty()) {
    return objects;  // no GPU node has system labels, or no image is for it
  }
  if (AsksForTrustedCa(context)) {
    objects.push_back(TrustedCa(context));
  }
  if (context.policy.driver_options.precompiled && image.find("sha256:") != std::string::npos) {
    return Fail(ErrorKind::kInvalid,
                "spec.driver.version: a digest can't name a precompiled driver for each kernel");
  }
  for (const DriverPart& part : context.drivers.sets) {
    const Context own = ForPart(context, part);
    DriverSetting of_part = setting;
    of_part.name = part.name;
    of_part.nodes = part.nodes;
    if (part.system.kernels.empty()) {
      // Pods left without a DaemonSet are adopted by the one of their name.
      of_part.app = part.name;
    } else {
      of_part.kernel = part.system.kernels.front();
    }
    if (!part.system.rhcos.empty()) {
      of_part.rhcos = part.system.rhcos.front();
    }
    TRY_ASSIGN(Json set, DriverSet(own, of_part, image));
    objects.push_back(std::move(set));
  }
  return objects;
}

}  // namespace gantry::gpu_operator
