"""Runs the fuzz targets (tests/fuzz, built by the preset `asan`) side by side.

Each starts from its committed corpus; what it finds new is kept in out/fuzz/NAME, and an input that
breaks it too (crash-..., leak-..., timeout-..., oom-...).
"""

import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "fuzz"
OUT = ROOT / "out" / "fuzz"
# However many targets there are, they run in at most so many rounds: more share a core then.
ROUNDS = 5


@dataclasses.dataclass
class Target:
    name: str
    executions: int = 0
    finding: str = ""


def names():
    return sorted(f.name.removesuffix("_fuzz.cc") for f in FOLDER.glob("*_fuzz.cc"))


def run(name, seconds, seed):
    target = Target(name)
    program, seeds, out = ROOT / "build/asan/bin" / f"{name}_fuzz", FOLDER / "corpus" / name, OUT / name
    if not program.exists() or not seeds.is_dir():
        target.finding = f"{seeds if program.exists() else program} is not there"
        return target
    shutil.rmtree(out, ignore_errors=True)
    (out / "new").mkdir(parents=True)
    command = [str(program), f"-max_total_time={seconds}", f"-seed={seed}", "-timeout=10", "-rss_limit_mb=2048",
               "-print_final_stats=1", f"-artifact_prefix={out}/", str(out / "new"), str(seeds)]
    try:
        done = subprocess.run(command, cwd=out, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=seconds + 120, check=False)
    except subprocess.TimeoutExpired:
        target.finding = f"did not end {seconds + 120} s after its start"
        return target
    executions = re.search(r"number_of_executed_units:\s*(\d+)", done.stdout)
    target.executions = int(executions.group(1)) if executions else 0
    if done.returncode != 0 or not target.executions:
        target.finding = f"exit status {done.returncode}, see {out}\n{done.stdout[-5000:]}"
    return target


def run_all(seconds, seed=0):
    """Yields each Target when it is done, in the order of their names. The same seed tries the same inputs while the
    code stays as it is; 0 tries others each time."""
    every = names()
    workers = max(os.cpu_count() or 1, -(-len(every) // ROUNDS))
    with concurrent.futures.ThreadPoolExecutor(max_workers=workers) as pool:
        yield from pool.map(lambda name: run(name, seconds, seed), every)
