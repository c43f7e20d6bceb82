"""One bed for all stories, in the order of a cluster's life; what a story needs else it makes itself."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import bed as beds  # noqa: E402
import findings  # noqa: E402

# The life of a cluster. Each file leaves the cluster installed and idle, but for the last. One that is changed over is
# another, which is gone before this one is made.
ORDER = ["test_change_over", "test_install", "test_gpu_pods", "test_metrics", "test_policy", "test_drift", "test_sharing", "test_mig", "test_health",
         "test_restarts", "test_kills", "test_doctor", "test_failures", "test_rights", "test_driver_upgrade", "test_late_node",
         "test_gantry_upgrade", "test_node_away", "test_uninstall", "test_claims"]
PROFILE = beds.ROOT / "testbed" / "fakegpu" / "profiles" / "8xa100-80.yaml"


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: ORDER.index(item.module.__name__))


@pytest.fixture(scope="session")
def bare():
    """A cluster with GPU nodes on which nothing of ours was installed."""
    made = beds.Bed(f"stories-{os.getpid()}", nodes=2, gpus=PROFILE)
    try:
        made.do("load", "all", str(beds.IMAGE), timeout=300)
        # The client of the kubelet's sockets, for what only those sockets tell.
        for name in made.nodes():
            made.copy(name, beds.ROOT / "build" / "release" / "bin" / "node_probe", "/usr/local/bin/node_probe")
        yield made
    finally:
        made.end()


@pytest.fixture(scope="session")
def before(bare):
    """What the nodes and the cluster looked like before the installation."""
    import snapshot
    return snapshot.take(bare)


@pytest.fixture(scope="session")
def bed(bare, before):
    """The cluster with Gantry installed and ready."""
    bare.install()
    bare.first_alarms = findings.alarms_until(bare, "GPUs of all nodes", lambda: all(
        bare.allocatable(node) == 8 for node in bare.nodes()), 60)
    bare.first_alarms += findings.alarms_until(bare, "the ClusterPolicy to be ready", bare.policy_ready, 60)
    return bare


@pytest.fixture(autouse=True)
def no_pods_left(request):
    """What a story that failed left running holds no GPU of the next."""
    yield
    bed = request.node.funcargs.get("bed")
    if bed and bed.core.list_namespaced_pod("default").items:
        bed.kubectl("-n", "default", "delete", "pod", "--all", "--now", "--timeout=60s", check=False)


@pytest.fixture
def node(bed):
    return sorted(bed.nodes())[0]
