# SPDX-License-Identifier: Apache-2.0
"""What NVIDIA's operator leaves in a cluster: the objects of its states for container workloads, by the names,
labels, accounts, containers, variables and mounts that it gives them, with its hash annotation and the
ClusterPolicy as their owner. Texts that are NVIDIA's own (scripts, what its init containers wait with) are others.
"""

SPACE = "gpu-operator"
CHART = "gpu-operator-v26.7.0"
VALIDATOR = "nvcr.io/nvidia/gpu-operator:v26.7.0"

# What its chart writes into the ClusterPolicy.
SPEC = {
    "daemonsets": {
        "labels": {"helm.sh/chart": CHART, "app.kubernetes.io/managed-by": "gpu-operator"},
        "priorityClassName": "system-node-critical", "updateStrategy": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "1"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]},
    "operator": {"runtimeClass": "nvidia"}, "cdi": {"enabled": True, "nriPluginEnabled": False},
    "sandboxWorkloads": {"enabled": False, "defaultWorkload": "container", "mode": "kubevirt"},
    "hostPaths": {"rootFS": "/", "driverInstallDir": "/run/nvidia/driver"}, "mig": {"strategy": "single"},
    "validator": {"repository": "nvcr.io/nvidia", "image": "gpu-operator", "version": "v26.7.0",
                  "imagePullPolicy": "IfNotPresent"},
    "driver": {"enabled": True, "repository": "nvcr.io/nvidia", "image": "driver", "version": "595.91.07",
               "imagePullPolicy": "IfNotPresent", "kernelModuleType": "auto",
               "manager": {"repository": "nvcr.io/nvidia/cloud-native", "image": "k8s-driver-manager",
                           "version": "v0.12.0", "imagePullPolicy": "IfNotPresent"},
               "upgradePolicy": {"autoUpgrade": True, "maxParallelUpgrades": 1, "maxUnavailable": "25%",
                                 "podDeletion": {"timeoutSeconds": 300}}},
    "toolkit": {"enabled": True, "repository": "nvcr.io/nvidia/k8s", "image": "container-toolkit", "version": "v1.20.0",
                "imagePullPolicy": "IfNotPresent", "installDir": "/usr/local/nvidia"},
    "devicePlugin": {"enabled": True, "repository": "nvcr.io/nvidia", "image": "k8s-device-plugin",
                     "version": "v0.20.0", "imagePullPolicy": "IfNotPresent",
                     "env": [{"name": "MY_OWN", "value": "1"}]},
    "dcgm": {"enabled": False}, "nodeStatusExporter": {"enabled": False},
    "dcgmExporter": {"enabled": True, "repository": "nvcr.io/nvidia/k8s", "image": "dcgm-exporter",
                     "version": "4.6.0-4.8.3-distroless", "imagePullPolicy": "IfNotPresent"},
    "gfd": {"enabled": True, "repository": "nvcr.io/nvidia", "image": "k8s-device-plugin", "version": "v0.20.0",
            "imagePullPolicy": "IfNotPresent"},
    "migManager": {"enabled": True, "repository": "nvcr.io/nvidia/cloud-native", "image": "k8s-mig-manager",
                   "version": "v0.15.0", "imagePullPolicy": "IfNotPresent", "config": {"default": "all-disabled"}},
}

DEPLOYED = ("driver", "gpu-feature-discovery", "container-toolkit", "device-plugin", "dcgm", "dcgm-exporter",
            "node-status-exporter", "operator-validator", "client", "mig-manager")


def node_labels(system="ubuntu", version="22.04"):
    """Those of a GPU node on which everything runs: by node feature discovery, GPU feature discovery and the operator."""
    feature = "feature.node.kubernetes.io/"
    return {"kubernetes.io/os": "linux", f"{feature}pci-10de.present": "true",
            f"{feature}system-os_release.ID": system, f"{feature}system-os_release.VERSION_ID": version,
            f"{feature}kernel-version.full": "6.8.0-60-generic",
            "nvidia.com/gpu.present": "true", "nvidia.com/mig.capable": "true", "nvidia.com/gpu.count": "8",
            "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/mig.config": "all-disabled",
            "nvidia.com/mig.config.state": "success", "nvidia.com/gpu-driver-upgrade-state": "upgrade-done",
            } | {f"nvidia.com/gpu.deploy.{suffix}": "true" for suffix in DEPLOYED}


# Annotations of the same node: NFD's record of its labels, and the operator's word to the driver manager.
NODE_ANNOTATIONS = {
    "nfd.node.kubernetes.io/feature-labels": "kernel-version.full,pci-10de.present,system-os_release.ID,"
                                             "system-os_release.VERSION_ID",
    "nvidia.com/gpu-driver-upgrade-enabled": "true"}


def fnv(text):
    value = 2166136261
    for byte in text.encode():
        value = (value ^ byte) * 16777619 & 0xffffffff
    return str(value)


def digest(pod):
    """DRIVER_CONFIG_DIGEST of a driver's pod spec."""
    def variables(container):
        direct = sorted((e["name"], e.get("value", "")) for e in container.get("env", []) if "valueFrom" not in e)
        return "([]config.EnvVar)[" + " ".join(f"{{Name:(string){n} Value:(string){v}}}" for n, v in direct) + "]"

    manager = pod["initContainers"][0]
    driver = pod["containers"][0]
    mounts = sorted((m["name"], m["mountPath"], m.get("subPath", ""), str(m.get("readOnly", False)).lower())
                    for m in driver["volumeMounts"])
    volumes = sorted((v["name"], v.get("configMap", {}).get("name", ""), "", v.get("hostPath", {}).get("path", ""))
                     for v in pod["volumes"])
    fields = {
        "DriverImage": f"(string){driver['image']}", "DriverManagerImage": f"(string){manager['image']}",
        "DriverCommand": f"([]string)[{' '.join(driver['command'])}]",
        "DriverArgs": f"([]string)[{' '.join(driver['args'])}]",
        "DriverEnv": variables(driver), "ManagerEnv": variables(manager), "HostRoot": "(string)/",
        "AdditionalVolumes": "([]config.VolumeConfig)[" + " ".join(
            "{Name:(string)%s ConfigMapName:(string)%s SecretName:(string)%s HostPath:(string)%s}" % v
            for v in volumes) + "]",
        "AdditionalVolumeMounts": "([]config.VolumeMountConfig)[" + " ".join(
            "{Name:(string)%s MountPath:(string)%s SubPath:(string)%s ReadOnly:(bool)%s}" % m for m in mounts) + "]"}
    return fnv("".join(f"{name}:{fields[name]}" for name in sorted(fields)))


def image_of(section):
    return f"{section['repository']}/{section['image']}:{section['version']}"


def env(*fields, **values):
    """Variables from fields ("NAME=path"), then with values."""
    made = [{"name": f.split("=")[0], "valueFrom": {"fieldRef": {"fieldPath": f.split("=")[1]}}} for f in fields]
    return made + [{"name": name, "value": value} for name, value in values.items()]


def mounts(*texts):
    """"volume:/path[:option,...]": ro, both, host, sub=<key>."""
    made = []
    for text in texts:
        name, path, *options = text.split(":")
        mount = {"name": name, "mountPath": path}
        for option in options[0].split(",") if options else []:
            mount |= {"ro": {"readOnly": True}, "both": {"mountPropagation": "Bidirectional"},
                      "host": {"mountPropagation": "HostToContainer"}}.get(option) or {"subPath": option[4:]}
        made.append(mount)
    return made


def host(**paths):
    """Volumes of the host: name (with _ for -) and path, "!" before it: made if it is not there."""
    return [{"name": name.replace("_", "-"), "hostPath": {"path": path.lstrip("!")} | (
        {"type": "DirectoryOrCreate"} if path[0] == "!" else {})} for name, path in paths.items()]


def config_map(volume, name, mode=None, **more):
    return {"name": volume, "configMap": {"name": name} | ({"defaultMode": mode} if mode else {}) | more}


def container(name, image, command=None, args=None, variables=(), mounted=(), **more):
    made = {"name": name, "image": image, "imagePullPolicy": "IfNotPresent",
            "securityContext": {"privileged": True}, "env": list(variables), "volumeMounts": list(mounted)} | more
    return made | ({"command": command} if command else {}) | ({"args": args} if args else {})


def waits(volume="run-nvidia", path="/run/nvidia"):
    return container("toolkit-validation", VALIDATOR, ["sh", "-c"], ["until ls /run/nvidia/validations/toolkit-ready; "
                     "do sleep 5; done"], mounted=mounts(f"{volume}:{path}:host"),
                     securityContext={"privileged": True, "runAsUser": 0})


def validates_driver():
    return container("driver-validation", VALIDATOR, ["sh", "-c"], ["nvidia-validator"],
                     env("OPERATOR_NAMESPACE=metadata.namespace", WITH_WAIT="true", COMPONENT="driver"),
                     mounts("host-root:/host:host,ro", "driver-install-dir:/run/nvidia/driver:host",
                            "run-nvidia-validations:/run/nvidia/validations:both", "host-dev-char:/host-dev-char"),
                     securityContext={"privileged": True, "seLinuxOptions": {"level": "s0"}, "runAsUser": 0})


def validates(component, **values):
    workload = component in ("cuda", "plugin")
    fields = ("NODE_NAME=spec.nodeName", "OPERATOR_NAMESPACE=metadata.namespace") if workload else ()
    pods = {"VALIDATOR_IMAGE": VALIDATOR, "VALIDATOR_IMAGE_PULL_POLICY": "IfNotPresent",
            "VALIDATOR_RUNTIME_CLASS": "nvidia"} if workload else {}
    return container(f"{component}-validation", VALIDATOR, ["sh", "-c"], ["nvidia-validator"],
                     env(*fields, COMPONENT=component, WITH_WAIT="false", **values, **pods),
                     mounts("run-nvidia-validations:/run/nvidia/validations:both"),
                     securityContext={"privileged": True, "runAsUser": 0})


PLUGIN_CDI = {"CDI_ENABLED": "true", "NVIDIA_CDI_HOOK_PATH": "/usr/local/nvidia/toolkit/nvidia-cdi-hook"}
MIG = {"MIG_STRATEGY": "single", "NVIDIA_MIG_MONITOR_DEVICES": "all"}


def driver_pod(spec, tag="ubuntu22.04"):
    driver, manager = spec["driver"], spec["driver"]["manager"]
    pod = {
        "hostPID": True, "serviceAccountName": "nvidia-driver",
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{
            "labelSelector": {"matchExpressions": [{"key": "app.kubernetes.io/component", "operator": "In",
                                                    "values": ["nvidia-driver"]}]},
            "topologyKey": "kubernetes.io/hostname"}]}},
        "initContainers": [container(
            "k8s-driver-manager", image_of(manager), ["driver-manager"], ["uninstall_driver"],
            env("NODE_NAME=spec.nodeName", "OPERATOR_NAMESPACE=metadata.namespace", NVIDIA_VISIBLE_DEVICES="void",
                ENABLE_GPU_POD_EVICTION="true", ENABLE_AUTO_DRAIN="false", DRAIN_USE_FORCE="false",
                DRAIN_POD_SELECTOR_LABEL="", DRAIN_TIMEOUT_SECONDS="0s", DRAIN_DELETE_EMPTYDIR_DATA="false"),
            mounts("run-nvidia:/run/nvidia:both", "host-root:/host:host,ro", "host-sys:/sys",
                   "run-mellanox-drivers:/run/mellanox/drivers:host"))],
        "containers": [container(
            "nvidia-driver-ctr", f"{image_of(driver)}-{tag}", ["nvidia-driver"], ["init"],
            env("NODE_NAME=spec.nodeName", "NODE_IP=status.hostIP", KERNEL_MODULE_TYPE=driver["kernelModuleType"]),
            mounts("run-nvidia:/run/nvidia:both", "run-nvidia-fabricmanager:/run/nvidia-fabricmanager",
                   "run-nvidia-topologyd:/run/nvidia-topologyd", "var-log:/var/log", "dev-log:/dev/log",
                   "host-os-release:/host-etc/os-release:ro",
                   "mlnx-ofed-usr-src:/run/mellanox/drivers/usr/src:host",
                   "run-mellanox-drivers:/run/mellanox/drivers:host", "host-sys-devices-system:/sys/devices/system",
                   "firmware-search-path:/sys/module/firmware_class/parameters/path", "nv-firmware:/lib/firmware",
                   "driver-startup-probe-script:/usr/local/bin/startup-probe.sh:sub=startup-probe.sh"),
            startupProbe={"exec": {"command": ["sh", "/usr/local/bin/startup-probe.sh"]}, "initialDelaySeconds": 60,
                          "failureThreshold": 120, "successThreshold": 1, "periodSeconds": 10, "timeoutSeconds": 60},
            lifecycle={"preStop": {"exec": {"command": ["/bin/sh", "-c", "rm -f /run/nvidia/validations/"
                                                        ".driver-ctr-ready"]}}})],
        "volumes": host(
            run_nvidia="!/run/nvidia", var_log="/var/log", dev_log="/dev/log", host_os_release="/etc/os-release",
            run_nvidia_fabricmanager="!/run/nvidia-fabricmanager", run_nvidia_topologyd="!/run/nvidia-topologyd",
            mlnx_ofed_usr_src="!/run/mellanox/drivers/usr/src", run_mellanox_drivers="!/run/mellanox/drivers",
            run_nvidia_validations="!/run/nvidia/validations", host_root="/", host_sys="/sys",
            firmware_search_path="/sys/module/firmware_class/parameters/path",
            host_sys_devices_system="/sys/devices/system", nv_firmware="!/run/nvidia/driver/lib/firmware",
        ) + [config_map("driver-startup-probe-script", "nvidia-driver-startup-probe", 0o755)]}
    number = {"name": "DRIVER_CONFIG_DIGEST", "value": digest(pod)}
    pod["initContainers"][0]["env"].append(number)
    pod["containers"][0]["env"].append(number)
    return pod


def pods(spec):
    """DaemonSet -> (its service account, deploy label, pod spec)."""
    plugin, gfd = image_of(spec["devicePlugin"]), image_of(spec["gfd"])
    management = {"runtimeClassName": "nvidia"}
    user = [dict(variable) for variable in spec["devicePlugin"].get("env", [])]
    return {
        "nvidia-driver-daemonset": ("nvidia-driver", "driver", driver_pod(spec)),
        "nvidia-container-toolkit-daemonset": ("nvidia-container-toolkit", "container-toolkit", {
            "hostPID": True, "initContainers": [validates_driver()],
            "containers": [container(
                "nvidia-container-toolkit-ctr", image_of(spec["toolkit"]), ["/bin/sh", "-c"], ["/bin/entrypoint.sh"],
                env("NRI_NAMESPACE=metadata.namespace", ROOT="/usr/local/nvidia",
                    NVIDIA_CONTAINER_RUNTIME_MODES_CDI_DEFAULT_KIND="management.nvidia.com/gpu",
                    NVIDIA_VISIBLE_DEVICES="void", TOOLKIT_PID_FILE="/run/nvidia/toolkit/toolkit.pid",
                    CDI_ENABLED="true", NVIDIA_RUNTIME_SET_AS_DEFAULT="false", NVIDIA_CONTAINER_RUNTIME_MODE="cdi",
                    CRIO_CONFIG_MODE="config", RUNTIME="containerd", CONTAINERD_RUNTIME_CLASS="nvidia",
                    RUNTIME_CONFIG="/runtime/config-dir/config.toml",
                    CONTAINERD_CONFIG="/runtime/config-dir/config.toml",
                    RUNTIME_DROP_IN_CONFIG="/runtime/config-dir.d/99-nvidia.toml",
                    RUNTIME_DROP_IN_CONFIG_HOST_PATH="/etc/containerd/conf.d/99-nvidia.toml",
                    RUNTIME_SOCKET="/runtime/sock-dir/containerd.sock",
                    CONTAINERD_SOCKET="/runtime/sock-dir/containerd.sock"),
                mounts("nvidia-container-toolkit-entrypoint:/bin/entrypoint.sh:ro,sub=entrypoint.sh",
                       "toolkit-root:/run/nvidia/toolkit", "run-nvidia-validations:/run/nvidia/validations",
                       "toolkit-install-dir:/usr/local/nvidia", "crio-hooks:/usr/share/containers/oci/hooks.d",
                       "driver-install-dir:/driver-root:host", "host-root:/host:host,ro", "cdi-root:/var/run/cdi",
                       "containerd-config:/runtime/config-dir/", "containerd-drop-in-config:/runtime/config-dir.d/",
                       "containerd-socket:/runtime/sock-dir/"))],
            "volumes": host(
                toolkit_root="!/run/nvidia/toolkit", run_nvidia_validations="!/run/nvidia/validations",
                driver_install_dir="!/run/nvidia/driver", host_root="/", toolkit_install_dir="/usr/local/nvidia",
                crio_hooks="/run/containers/oci/hooks.d", host_dev_char="/dev/char", cdi_root="!/var/run/cdi",
                containerd_config="!/etc/containerd", containerd_drop_in_config="!/etc/containerd/conf.d",
                containerd_socket="/run/containerd",
            ) + [config_map("nvidia-container-toolkit-entrypoint", "nvidia-container-toolkit-entrypoint", 0o700)]}),
        "nvidia-operator-validator": ("nvidia-operator-validator", "operator-validator", management | {
            "initContainers": [validates_driver(), validates("toolkit", NVIDIA_VISIBLE_DEVICES="all"),
                               validates("cuda"), validates("plugin", WITH_WORKLOAD="false", MIG_STRATEGY="single")],
            "containers": [container("nvidia-operator-validator", VALIDATOR, ["sh", "-c"], ["sleep infinity"],
                                     mounted=mounts("run-nvidia-validations:/run/nvidia/validations:both"))],
            "volumes": host(run_nvidia_validations="!/run/nvidia/validations",
                            driver_install_dir="/run/nvidia/driver", host_root="/", host_dev_char="/dev/char")}),
        "nvidia-device-plugin-daemonset": ("nvidia-device-plugin", "device-plugin", management | {
            "initContainers": [waits("run-nvidia-validations", "/run/nvidia/validations")],
            "containers": [container(
                "nvidia-device-plugin", plugin, ["/bin/sh", "-c"], ["/bin/entrypoint.sh"],
                env(PASS_DEVICE_SPECS="true", FAIL_ON_INIT_ERROR="true", DEVICE_ID_STRATEGY="uuid",
                    DEVICE_LIST_STRATEGY="cdi-annotations,cdi-cri", CDI_ANNOTATION_PREFIX="cdi.k8s.io/",
                    NVIDIA_VISIBLE_DEVICES="all", NVIDIA_DRIVER_CAPABILITIES="all", MPS_ROOT="/run/nvidia/mps",
                    **PLUGIN_CDI, **MIG) + user,
                mounts("nvidia-device-plugin-entrypoint:/bin/entrypoint.sh:ro,sub=entrypoint.sh",
                       "device-plugin:/var/lib/kubelet/device-plugins",
                       "run-nvidia-validations:/run/nvidia/validations", "driver-install-dir:/driver-root:host",
                       "host-root:/host:host,ro", "cdi-root:/var/run/cdi", "mps-shm:/dev/shm", "mps-root:/mps"))],
            "volumes": host(device_plugin="/var/lib/kubelet/device-plugins",
                            run_nvidia_validations="!/run/nvidia/validations",
                            driver_install_dir="!/run/nvidia/driver", host_root="/", cdi_root="!/var/run/cdi",
                            mps_root="!/run/nvidia/mps", mps_shm="/run/nvidia/mps/shm",
                            ) + [config_map("nvidia-device-plugin-entrypoint", "nvidia-device-plugin-entrypoint",
                                            0o700)]}),
        "nvidia-device-plugin-mps-control-daemon": ("nvidia-device-plugin", "device-plugin", management | {
            "hostPID": True,
            "initContainers": [waits(), container("mps-control-daemon-mounts", plugin,
                                                  ["mps-control-daemon", "mount-shm"],
                                                  mounted=mounts("mps-root:/mps:both"))],
            "containers": [container("mps-control-daemon-ctr", plugin, ["mps-control-daemon"], None,
                                     env("NODE_NAME=spec.nodeName", NVIDIA_VISIBLE_DEVICES="all",
                                         NVIDIA_DRIVER_CAPABILITIES="compute,utility", **MIG),
                                     mounts("mps-shm:/dev/shm", "mps-root:/mps"))],
            "volumes": host(run_nvidia="/run/nvidia", mps_root="!/run/nvidia/mps", mps_shm="/run/nvidia/mps/shm")}),
        "nvidia-dcgm-exporter": ("nvidia-dcgm-exporter", "dcgm-exporter", management | {
            "automountServiceAccountToken": False, "initContainers": [waits()],
            "containers": [container(
                "nvidia-dcgm-exporter", image_of(spec["dcgmExporter"]), None, None,
                env("NODE_NAME=spec.nodeName", DCGM_EXPORTER_LISTEN=":9400", DCGM_EXPORTER_KUBERNETES="true",
                    DCGM_EXPORTER_COLLECTORS="/etc/dcgm-exporter/dcp-metrics-included.csv"),
                mounts("pod-gpu-resources:/var/lib/kubelet/pod-resources:ro"),
                ports=[{"name": "metrics", "containerPort": 9400}],
                livenessProbe={"httpGet": {"path": "/health", "port": 9400}, "initialDelaySeconds": 45,
                               "periodSeconds": 5},
                readinessProbe={"httpGet": {"path": "/health", "port": 9400}, "initialDelaySeconds": 45})],
            "volumes": host(pod_gpu_resources="/var/lib/kubelet/pod-resources", run_nvidia="/run/nvidia")}),
        "gpu-feature-discovery": ("nvidia-gpu-feature-discovery", "gpu-feature-discovery", management | {
            "initContainers": [waits()],
            "containers": [container(
                "gpu-feature-discovery", gfd, ["gpu-feature-discovery"], None,
                env("NAMESPACE=metadata.namespace", "NODE_NAME=spec.nodeName", "POD_NAME=metadata.name",
                    GFD_SLEEP_INTERVAL="60s", GFD_FAIL_ON_INIT_ERROR="true", **MIG),
                mounts("output-dir:/etc/kubernetes/node-feature-discovery/features.d", "host-sys:/sys:ro"))],
            "volumes": host(output_dir="/etc/kubernetes/node-feature-discovery/features.d", host_sys="/sys",
                            run_nvidia="/run/nvidia")}),
        "nvidia-mig-manager": ("nvidia-mig-manager", "mig-manager", management | {
            "hostPID": True, "hostIPC": True,
            "initContainers": [waits("run-nvidia-validations", "/run/nvidia/validations")],
            "containers": [container(
                "nvidia-mig-manager", image_of(spec["migManager"]), ["/bin/sh", "-c"], ["/bin/entrypoint.sh"],
                env("NODE_NAME=spec.nodeName", "POD_NAME=metadata.name", "POD_NAMESPACE=metadata.namespace",
                    "DEFAULT_GPU_CLIENTS_NAMESPACE=metadata.namespace",
                    GPU_CLIENTS_FILE="/gpu-clients/clients.yaml",
                    DEFAULT_CONFIG_FILE="/mig-parted-config/config-default.yaml", **PLUGIN_CDI),
                mounts("nvidia-mig-manager-entrypoint:/bin/entrypoint.sh:ro,sub=entrypoint.sh",
                       "run-nvidia-validations:/run/nvidia/validations", "host-sys:/sys", "host-root:/host:host",
                       "gpu-clients:/gpu-clients", "mig-parted-config:/mig-parted-config",
                       "driver-install-dir:/driver-root:host", "cdi-root:/var/run/cdi"))],
            "volumes": host(host_sys="/sys", run_nvidia_validations="!/run/nvidia/validations",
                            driver_install_dir="!/run/nvidia/driver", host_root="/", cdi_root="!/var/run/cdi",
                            ) + [config_map("nvidia-mig-manager-entrypoint", "nvidia-mig-manager-entrypoint", 0o700),
                                 config_map("gpu-clients", "default-gpu-clients"),
                                 config_map("mig-parted-config", "default-mig-parted-config", items=[
                                     {"key": "config.yaml", "path": "config-default.yaml"}])]}),
    }


SELECTOR_TOO = {"nvidia-operator-validator": {"app.kubernetes.io/part-of": "gpu-operator"},
                "gpu-feature-discovery": {"app.kubernetes.io/part-of": "nvidia-gpu"}}
LABELS_TOO = {"nvidia-driver-daemonset": {"nvidia.com/precompiled": "false",
                                          "app.kubernetes.io/component": "nvidia-driver"}}
CLUSTER_ROLES = ("nvidia-driver", "nvidia-operator-validator", "nvidia-device-plugin",
                 "nvidia-device-plugin-mps-control-daemon", "nvidia-gpu-feature-discovery", "nvidia-mig-manager")
CONFIG_MAPS = {"nvidia-driver-startup-probe": "startup-probe.sh",
               "nvidia-container-toolkit-entrypoint": "entrypoint.sh",
               "nvidia-device-plugin-entrypoint": "entrypoint.sh", "nvidia-mig-manager-entrypoint": "entrypoint.sh",
               "default-mig-parted-config": "config.yaml", "default-gpu-clients": "clients.yaml"}
SERVICES = {"gpu-operator": ("gpu-operator-metrics", 8080), "nvidia-dcgm-exporter": ("gpu-metrics", 9400)}


def daemon_set(name, deploy, pod, spec):
    chart = spec["daemonsets"]["labels"]
    own = {"app": name} | SELECTOR_TOO.get(name, {})
    labels = own | LABELS_TOO.get(name, {})
    driver = name == "nvidia-driver-daemonset"
    select = {f"nvidia.com/gpu.deploy.{deploy}": "true"} | (
        {"nvidia.com/mps.capable": "true"} if "mps" in name else {})
    made = {
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": SPACE, "labels": labels | chart, "annotations": {}},
        "spec": {
            "selector": {"matchLabels": own},
            "updateStrategy": {"type": "OnDelete"} if driver else {
                "type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "template": {
                "metadata": {"labels": labels | chart, "annotations": {
                    "kubectl.kubernetes.io/default-container": "nvidia-driver-ctr"} if driver else {}},
                "spec": {"nodeSelector": select, "tolerations": spec["daemonsets"]["tolerations"],
                         "priorityClassName": spec["daemonsets"]["priorityClassName"]} | pod}}}
    made["metadata"]["annotations"]["nvidia.com/last-applied-hash"] = fnv(repr(made))
    return made


def objects(spec, owner):
    """All objects that it makes for a ClusterPolicy of that spec; owner is its ownerReference."""
    rbac = "rbac.authorization.k8s.io"
    made = []

    def add(version, kind, name, spaced=True, **more):
        made.append({"apiVersion": version, "kind": kind,
                     "metadata": {"name": name} | ({"namespace": SPACE} if spaced else {})} | more)

    for handler in ("nvidia", "nvidia-cdi", "nvidia-legacy"):
        add("node.k8s.io/v1", "RuntimeClass", handler, False, handler=handler)
        made[-1]["metadata"]["labels"] = {"app.kubernetes.io/component": "gpu-operator"}
    sets = pods(spec)
    for account in sorted({account for account, _, _ in sets.values()} | set(CLUSTER_ROLES)):
        subject = {"kind": "ServiceAccount", "name": account, "namespace": SPACE}
        add("v1", "ServiceAccount", account)
        for scope in ("Role", "ClusterRole") if account in CLUSTER_ROLES else ("Role",):
            spaced = scope == "Role"
            rule = {"apiGroups": [""], "resources": ["pods" if spaced else "nodes"], "verbs": ["get"]}
            add(f"{rbac}/v1", scope, account, spaced, rules=[rule])
            add(f"{rbac}/v1", f"{scope}Binding", account, spaced, subjects=[subject],
                roleRef={"apiGroup": rbac, "kind": scope, "name": account})
    for name, key in CONFIG_MAPS.items():
        add("v1", "ConfigMap", name, data={key: "# as NVIDIA has it\n"})
    for name, (port_name, port) in SERVICES.items():
        add("v1", "Service", name, spec={"selector": {"app": name}, "ports": [
            {"name": port_name, "port": port, "targetPort": port, "protocol": "TCP"}]})
    for name, (account, deploy, pod) in sets.items():
        made.append(daemon_set(name, deploy, {"serviceAccountName": account} | pod, spec))
    for one in made:
        one["metadata"]["ownerReferences"] = [owner]
    return made
