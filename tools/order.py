"""Writes src/cli/start_order.txt: the functions that operands run, those that all of them run first.

usage: ./do order
The linker lays these functions side by side. A page fault maps 64 KiB around it, so a process whose functions lie
strewn over the program has all of it in memory. A name that is no longer there does no harm: the list needs making
again only when `./do bench footprint` shows that memory grows.
The operands run under valgrind's callgrind, as component tests start them; the tests' own results don't count.
"""

import collections
import contextlib
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile

import progress

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELEASE = ROOT / "build/release"
ORDER = ROOT / "src/cli/start_order.txt"
TESTS = [("tests/component/test_device_plugin.py", "chooses_the_configuration or out_of_service_and_why"),
         ("tests/component/test_features.py", "come_with_the_driver_and_stay or node_labels_follow_the_node"),
         ("tests/component/test_operator.py", "are_labelled_and_operands_deployed or what_drifts"),
         ("tests/component/test_container_toolkit.py", "test_installed_and_removed_without_a_trace"),
         ("tests/component/test_metrics_exporter.py", "pods_that_hold_gpus or test_mig"),
         ("tests/component/test_mig_manager.py", "label_is_what_the_gpus_become"),
         ("tests/component/test_dra_driver.py", "published_and_come_back or survives_a_kill")]
DIRECT = ["nvidia-validator", "await-status driver-ready"]
TEST_S = 400
FUNCTION = re.compile(r"^c?fn=\((\d+)\)(?: (\S+))?", re.MULTILINE)


def link_with_symbols(program):
    commands = subprocess.run(["ninja", "-C", RELEASE, "-t", "commands", "gantry"], text=True, check=True,
                              stdout=subprocess.PIPE).stdout
    command = next(line for line in reversed(commands.splitlines()) if " -o bin/gantry " in line)
    subprocess.run(command.replace(" -s ", " ").replace(" -o bin/gantry ", f" -o {shlex.quote(str(program))} "),
                   shell=True, cwd=RELEASE, check=True)


def traced(folder):
    """A folder that tests take for a build, whose gantry leaves in trace/ which functions each process ran."""
    (folder / "trace").mkdir()
    (folder / "build/bin").mkdir(parents=True)
    for entry in RELEASE.iterdir():
        if entry.name != "bin":
            (folder / "build" / entry.name).symlink_to(entry)
    for entry in (RELEASE / "bin").iterdir():
        (folder / "build/bin" / entry.name).symlink_to(entry)
    program, wrapper = folder / "gantry", folder / "build/bin/gantry"
    link_with_symbols(program)
    wrapper.unlink()
    wrapper.write_text("#!/bin/sh\nexec valgrind -q --tool=callgrind --demangle=no --dump-every-bb=20000000 "
                       f"--callgrind-out-file={folder}/trace/%p {program} \"$@\"\n")
    wrapper.chmod(0o755)
    return folder / "build", folder / "trace"


def end_leftovers(program):
    """Ends what a test that was interrupted has left running."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(program) in (process / "cmdline").read_text().split("\0"):
                os.kill(int(process.name), signal.SIGKILL)


def functions_of(trace):
    """The command that a trace is of, and the functions that it ran."""
    text = trace.read_text(errors="replace")
    words = re.search(r"^cmd:\s+\S+ (\S+)", text, re.MULTILINE)
    return words[1] if words else "", {name.split("'")[0] for _, name in FUNCTION.findall(text) if name}


def in_order(runs):
    """Functions by how many commands run them, those of one command side by side."""
    users = collections.defaultdict(set)
    for command, functions in runs:
        for function in functions:
            users[function].add(command)
    return sorted(users, key=lambda f: (-len(users[f]), sorted(users[f]), f))


def main():
    with tempfile.TemporaryDirectory(prefix="gantry-order-") as folder:
        build, traces = traced(pathlib.Path(folder))
        for words in DIRECT:
            with progress.shown(words):
                subprocess.run(["timeout", "-s", "TERM", "20", build / "bin/gantry", *words.split()], check=False,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for path, chosen in TESTS:
            with progress.shown(path):
                subprocess.run(["timeout", "-s", "INT", str(TEST_S), sys.executable, "-m", "pytest", "-q", "-p",
                                "no:cacheprovider", path, "-k", chosen], cwd=ROOT, check=False, stdout=sys.stderr,
                               env=os.environ | {"GANTRY_BUILD": str(build)})
        end_leftovers(pathlib.Path(folder) / "gantry")
        runs = [functions_of(trace) for trace in traces.iterdir()]
        symbols = subprocess.run(["nm", "--defined-only", "-j", f"{folder}/gantry"], text=True, check=True,
                                 stdout=subprocess.PIPE).stdout
    defined = set(symbols.split())
    order = [function for function in in_order(runs) if function in defined]
    ORDER.write_text("\n".join(order) + "\n")
    print(f"{ORDER.relative_to(ROOT)}: {len(order)} functions of {', '.join(sorted({c for c, _ in runs}))}")


if __name__ == "__main__":
    main()
