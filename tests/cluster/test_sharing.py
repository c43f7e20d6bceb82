"""Time-slicing by the ConfigMap that people copy from the texts; and what a wrong one does: nothing."""

from bed import NAMESPACE, wait_for
from findings import nothing_wrong, says

SLICES = """version: v1
flags:
  migStrategy: none
sharing:
  timeSlicing:
    renameByDefault: false
    failRequestsGreaterThanOne: false
    resources:
      - name: nvidia.com/gpu
        replicas: 4
"""


def config_map(text):
    return {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "time-slicing-config", "namespace": NAMESPACE}, "data": {"any": text}}


def set_config(bed, text):
    """Writes the ConfigMap and has the kubelet take it at once, by touching the plugin's pods."""
    bed.apply(config_map(text))
    for pod in bed.pods("nvidia-device-plugin-daemonset"):
        bed.kubectl("-n", NAMESPACE, "annotate", "--overwrite", "pod", pod.metadata.name,
                    f"stories/touched={abs(hash(text))}")


def share(bed):
    """Four slices of each GPU; nothing to do if a story before has made them."""
    set_config(bed, SLICES)
    bed.patch_policy({"devicePlugin": {"config": {"name": "time-slicing-config", "default": "any"}}})
    for name in bed.nodes():
        wait_for(f"32 slices on {name}", lambda: bed.allocatable(name) == 32, 90)


def test_time_slicing_makes_32_of_8(bed, node):
    share(bed)
    for name in bed.nodes():
        wait_for("labels", lambda: bed.labels(name).get("nvidia.com/gpu.replicas") == "4", 30)
        labels = bed.labels(name)
        assert labels["nvidia.com/gpu.sharing-strategy"] == "time-slicing"
        assert labels["nvidia.com/gpu.product"].endswith("-SHARED")
    names = [f"slice-{i}" for i in range(10)]
    bed.apply(*(bed.gpu_pod(n, 1, node=node) for n in names))
    for name in names:
        bed.wait_phase(name, "Running", 90)
    held = bed.pod_resources(node)
    assert len({i for n in names for i in held[n]}) == 10
    assert len({i.split("::")[0] for n in names for i in held[n]}) == 8, "slices spread over all GPUs"
    assert bed.in_pod("slice-0", "nvidia-smi", "-L").count("UUID: GPU-") == 1
    bed.delete_pods(*names)


def test_a_pod_that_finds_no_memory_is_told_of_its_neighbours(bed, node):
    share(bed)
    bed.apply(bed.gpu_pod("no-memory", 1, "echo RuntimeError: CUDA error: out of memory >&2; exit 1", node))
    says(bed, "GpuMemoryExhausted", "pod default/no-memory", "shared by time-slicing", timeout=60)
    bed.delete_pods("no-memory")
    nothing_wrong(bed)


def test_a_wrong_configuration_leaves_the_last_good_one_in_force(bed, node):
    share(bed)
    for wrong, named in (("version: v1\nsharing:\n  timeslicing: {}\n", "timeslicing"),
                         (SLICES.replace("replicas: 4", "replicas: 0"), "replicas"),
                         ("version: [v1\n", "yaml")):
        set_config(bed, wrong)
        wait_for(f"an event that names {named}", lambda: any(
            named in (e.message or "").lower() for e in bed.core.list_event_for_all_namespaces().items
            if e.reason == "InvalidDevicePluginConfig"), 90)
        assert bed.allocatable(node) == 32
        assert all(s.restart_count == 0 for p in bed.pods("nvidia-device-plugin-daemonset")
                   for s in p.status.container_statuses)
    set_config(bed, SLICES.replace("replicas: 4", "replicas: 2"))
    wait_for("16 slices, without a restart", lambda: bed.allocatable(node) == 16, 90)


def test_without_a_configuration_gpus_are_exclusive_again(bed):
    share(bed)
    bed.kubectl("patch", "clusterpolicy", "cluster-policy", "--type=json", "-p",
                '[{"op": "remove", "path": "/spec/devicePlugin/config"}]')
    for name in bed.nodes():
        wait_for(f"8 GPUs on {name}", lambda: bed.allocatable(name) == 8, 60)
        wait_for("labels", lambda: bed.labels(name).get("nvidia.com/gpu.replicas") == "1", 30)
        assert not bed.labels(name)["nvidia.com/gpu.product"].endswith("-SHARED")
    bed.kubectl("-n", NAMESPACE, "delete", "configmap", "time-slicing-config")
