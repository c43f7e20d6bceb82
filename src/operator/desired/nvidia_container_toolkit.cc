// SPDX-License-Identifier: Apache-2.0

// What does NVIDIA's own container toolkit run with, if the policy names its image? It does not
// detect the container runtime's configuration: host paths are mounted under /runtime, and
// variables name them. A user's variables come first, because they change those paths.

#include <algorithm>

#include "base/paths.h"
#include "base/text.h"
#include "operator/desired/makers.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/image.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

constexpr std::string_view kToolkitName = "nvidia-container-toolkit";
constexpr std::string_view kToolkitSet = "nvidia-container-toolkit-daemonset";
constexpr std::string_view kToolkitScript = "nvidia-container-toolkit-entrypoint";

// A restart of containerd may end this container: not in the first seconds.
constexpr std::string_view kToolkitEntrypoint =
    "#!/bin/sh\n"
    "set -e\n"
    "set -a\n"
    ". /run/nvidia/validations/driver-ready\n"
    "sleep 5\n"
    "exec nvidia-toolkit\n";

struct RuntimePaths {
  std::string config;
  std::string drop_in;  // empty: the runtime has none
  std::string socket;   // empty: it needs none
};

// The defaults, unless overridden by the user's variables (which are set by now).
RuntimePaths PathsOf(const std::string& runtime, const std::string& upper, const Container& main) {
  RuntimePaths paths;
  if (runtime == "containerd") {
    paths = {"/etc/containerd/config.toml", "/etc/containerd/conf.d/99-nvidia.toml",
             "/run/containerd/containerd.sock"};
  } else if (runtime == "docker") {
    paths = {"/etc/docker/daemon.json", "", "/var/run/docker.sock"};
  } else {
    paths = {"/etc/crio/config.toml", "/etc/crio/crio.conf.d/99-nvidia.conf", ""};
  }
  const auto use = [&](const std::string& name, std::string& path) {
    if (const std::string asked = main.EnvValue(name); !asked.empty() && !path.empty()) {
      path = asked;
    }
  };
  use("RUNTIME_CONFIG", paths.config);
  use(upper + "_CONFIG", paths.config);
  use("RUNTIME_DROP_IN_CONFIG", paths.drop_in);
  use(upper + "_SOCKET", paths.socket);
  return paths;
}

void MountFolderOf(DaemonSet& set, const std::string& volume, const std::string& path,
                   std::string_view here, HostDir create) {
  set.HostVolume(volume, ParentOf(path), create);
  set.main().Mount(volume, here);
}

void WireRuntime(const Context& context, NvidiaDaemonSet& set) {
  const std::string& runtime = context.runtime;
  Container& main = set.main();
  std::string upper = runtime;
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const RuntimePaths paths = PathsOf(runtime, upper, main);
  if (runtime == "containerd") {
    main.Env("CONTAINERD_RUNTIME_CLASS", context.policy.runtime_class);
  }
  const std::string config = format("/runtime/config-dir/{}", BaseName(paths.config));
  main.Env("RUNTIME_CONFIG", config).Env(upper + "_CONFIG", config);
  MountFolderOf(set, runtime + "-config", paths.config, "/runtime/config-dir/", HostDir::kCreate);
  if (!paths.drop_in.empty()) {
    main.Env("RUNTIME_DROP_IN_CONFIG", format("/runtime/config-dir.d/{}", BaseName(paths.drop_in)))
        .Env("RUNTIME_DROP_IN_CONFIG_HOST_PATH", paths.drop_in);
    MountFolderOf(set, runtime + "-drop-in-config", paths.drop_in, "/runtime/config-dir.d/",
                  HostDir::kCreate);
  }
  if (const std::string source = main.EnvValue("RUNTIME_CONFIG_SOURCE"); !source.empty()) {
    std::vector<std::string> items = Split(source, ',');
    for (std::string& item : items) {
      if (constexpr std::string_view kFile = "file="; item.starts_with(kFile)) {
        item = format("{}{}", kFile, JoinPath("/host", item.substr(kFile.size())));
      }
    }
    main.Env("RUNTIME_CONFIG_SOURCE", Join(items, ","));
  }
  if (!paths.socket.empty()) {
    const std::string socket = format("/runtime/sock-dir/{}", BaseName(paths.socket));
    main.Env("RUNTIME_SOCKET", socket).Env(upper + "_SOCKET", socket);
    MountFolderOf(set, runtime + "-socket", paths.socket, "/runtime/sock-dir/",
                  HostDir::kDirectory);
  }
}

void WireNri(NvidiaDaemonSet& set) {
  Container& main = set.main();
  const std::string asked = main.EnvValue("NRI_SOCKET");
  const std::string socket = asked.empty() ? "/var/run/nri/nri.sock" : asked;
  main.Env("NRI_SOCKET", format("/runtime/nri-sock-dir/{}", BaseName(socket)));
  MountFolderOf(set, "nri-socket", socket, "/runtime/nri-sock-dir/", HostDir::kCreate);
}

}  // namespace

Result<Objects> NvidiaContainerToolkit(const Context& context, const std::string& image) {
  const policy::ClusterPolicy& policy = context.policy;
  Objects objects = NvidiaAccount(context, kToolkitName, {Rule("apps", "daemonsets", {"list"})});
  objects.push_back(
      ConfigMap(context, kToolkitScript, kToolkitSet, {{"entrypoint.sh", kToolkitEntrypoint}}));

  NvidiaDaemonSet set(context, kToolkitSet, "nvidia-container-toolkit-ctr", image, policy.toolkit);
  set.Annotate("openshift.io/scc", "hostmount-anyuid");
  set.SelectDeployed("container-toolkit");
  set.UseServiceAccount(kToolkitName, true);
  set.HostPid();
  set.main()
      .PrivilegedAtLevel0()
      .Env("ROOT", policy.install_dir)
      .Env("NVIDIA_CONTAINER_RUNTIME_MODES_CDI_DEFAULT_KIND", names::kManagementCdiKind)
      .Env(names::kVisibleDevices, "void")
      .Env("TOOLKIT_PID_FILE", "/run/nvidia/toolkit/toolkit.pid")
      .EnvFromField("NRI_NAMESPACE", "metadata.namespace");
  set.RunScript(kToolkitScript);
  set.HostPath("toolkit-root", "/run/nvidia/toolkit", "/run/nvidia/toolkit", HostDir::kCreate,
               false);
  set.WritesValidations();
  set.HostPath("toolkit-install-dir", policy.install_dir, policy.install_dir, HostDir::kAny, false);
  // /usr of an OpenShift node can't be written.
  const bool usual = context.runtime == "crio" && !context.openshift.present();
  set.HostPath("crio-hooks",
               usual ? "/usr/share/containers/oci/hooks.d" : "/run/containers/oci/hooks.d",
               "/usr/share/containers/oci/hooks.d", HostDir::kAny, false);
  set.HostVolume("driver-install-dir", policy.driver_install_dir, HostDir::kCreate);
  set.main().Mount("driver-install-dir", "/driver-root", kFromHost);
  set.HostRoot(true);
  TRY_ASSIGN(const policy::ImageChoice validator,
             policy::ChooseImage(policy.validator.image, context.release.image, "validator"));
  if (IsOurs(validator.image, context.release.image)) {
    set.Await("driver-validation", {names::kDriverReady});
  } else {
    // No use of NVIDIA's validator here: its pod needs the runtime that this one installs.
    set.ValidateDriver(validator.image);
  }
  set.HostPath("cdi-root", names::kCdiDir, names::kCdiDir, HostDir::kCreate, false);
  if (policy.cdi) {
    set.Env("CDI_ENABLED", "true");
    set.Env("NVIDIA_RUNTIME_SET_AS_DEFAULT", "false");
    set.Env("NVIDIA_CONTAINER_RUNTIME_MODE", "cdi");
    set.Env("CRIO_CONFIG_MODE", "config");
    if (policy.nri) {
      set.Env("ENABLE_NRI_PLUGIN", "true");
    }
  } else if (context.runtime == "crio") {
    set.Env("CRIO_CONFIG_MODE", "hook");
  }
  set.Env(policy.toolkit.env);
  set.Env("RUNTIME", context.runtime);
  if (policy.nri) {
    WireNri(set);
  } else {
    WireRuntime(context, set);
  }
  if (policy.host_root != "/") {
    set.EnvEverywhere("HOST_ROOT", policy.host_root);
  }
  objects.push_back(set.Build());
  return objects;
}

}  // namespace gantry::gpu_operator
