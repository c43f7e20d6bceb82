"""What GPUs do is on the exporter's Service, with the pods that hold them, and follows the driver."""

from prometheus_client.parser import text_string_to_metric_families

from bed import wait_for

# As a scraper of the cluster asks: by the Service's name.
SCRAPE = ("exec 3<>/dev/tcp/nvidia-dcgm-exporter.gpu-operator/9400 && "
          "printf 'GET /metrics HTTP/1.1\\r\\nHost: exporter\\r\\nConnection: close\\r\\n\\r\\n' >&3 && cat <&3")
# The exporter looks at GPUs and pods every 30 s by default.
LOOK_S = 75


def scraped(bed, client, metric, **labels):
    """Samples of a metric from one of the Service's pods, asked for by a pod."""
    answer = bed.in_pod(client, "bash", "-c", SCRAPE).replace("\r\n", "\n")
    head, _, body = answer.partition("\n\n")
    assert head.startswith("HTTP/1.1 200"), head
    return [sample for family in text_string_to_metric_families(body) for sample in family.samples
            if sample.name == metric and labels.items() <= sample.labels.items()]


def test_a_gpu_has_the_name_of_the_pod_that_holds_it(bed, node):
    bed.apply(bed.gpu_pod("measured", 1, node=node))
    bed.wait_phase("measured", "Running")
    [uuid] = bed.pod_resources(node)["measured"]
    held = wait_for("the pod in its GPU's metrics", lambda: scraped(
        bed, "measured", "DCGM_FI_DEV_GPU_UTIL", pod="measured", namespace="default", container="main"), LOOK_S, 1)
    assert [(s.labels["UUID"], s.labels["Hostname"]) for s in held] == [(uuid, node)]
    others = wait_for("the node's other GPUs", lambda: scraped(bed, "measured", "DCGM_FI_DEV_GPU_TEMP", Hostname=node))
    assert len(others) == 8 and [s.labels["UUID"] for s in others if "pod" in s.labels] == [uuid]
    bed.delete_pods("measured")


def test_metrics_go_with_the_driver_and_come_back_with_it(bed, node):
    [exporter] = bed.pods("nvidia-dcgm-exporter", node=node)

    def temperatures():
        text = bed.core.connect_get_namespaced_pod_proxy_with_path(
            f"{exporter.metadata.name}:9400", exporter.metadata.namespace, "metrics")
        return text.count("DCGM_FI_DEV_GPU_TEMP{")
    wait_for("metrics of all GPUs", lambda: temperatures() == 8, LOOK_S, 1)
    bed.gpu(node, "driver-unload")
    try:
        wait_for("no metrics without a driver", lambda: temperatures() == 0, LOOK_S, 1)
    finally:
        bed.gpu(node, "driver-load")
    wait_for("metrics of the driver that is back", lambda: temperatures() == 8, LOOK_S, 1)
    [now] = bed.pods("nvidia-dcgm-exporter", node=node)
    assert now.metadata.name == exporter.metadata.name and now.status.container_statuses[0].restart_count == 0
    wait_for("all GPUs", lambda: bed.allocatable(node) == 8, 60)
    wait_for("the policy to be ready", bed.policy_ready, 60)
