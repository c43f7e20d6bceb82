"""Every test of Gantry, stage by stage: `./do test` runs all, `./do test STAGE...` some.

A stage yields (name, passed, detail) for each test that it ran. Stages share lanes, which run side by
side: a cluster mostly waits, and what compiles and computes takes the time that it leaves. The last
line printed is the summary, "N passed, N failed"; the exit status is 0 only if nothing failed and
something passed.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import time
import traceback
import xml.etree.ElementTree

import fuzz
import tidy

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ["GANTRY_CACHE"])
OUT = ROOT / "out" / "test"
GTEST_S = 1800  # one program: the operator's takes six minutes beside the other lanes on a slow machine
# Where threads meet; these run under ThreadSanitizer too.
TSAN_TESTS = ["kube", "device_plugin"]
COVERAGE_BAR = 90.0
# A part of a stage that took less is not printed by itself.
PART_S = 5
# What the stages run, as the summary counts it; a stage that is not named here makes checks.
COUNTED = {"unit": "gtest", "tsan": "gtest", "bed": "pytest", "stories": "pytest"}
PARTS = {}  # of the stage that this process runs: name -> seconds


@contextlib.contextmanager
def part(name):
    """What it takes is printed with its stage."""
    start = time.monotonic()
    try:
        yield
    finally:
        PARTS[name] = PARTS.get(name, 0) + time.monotonic() - start


def run(command, cwd=ROOT, **options):
    """Runs a command; its output is returned, not printed."""
    return subprocess.run(command, cwd=cwd, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, **options)


def sources(*suffixes):
    names = run(["git", "ls-files", "--cached", "--others", "--exclude-standard"]).stdout.split()
    return sorted(n for n in names if n.endswith(suffixes) and (ROOT / n).exists())


def build(preset, *targets):
    with part(f"build {preset}"):
        return run(["./do", "build", preset, *targets])


def reference_compile():
    """Seconds to compile one fixed file that needs nothing of Gantry: how fast this machine is, before anything runs."""
    start = time.monotonic()
    done = run(["clang++-19", "-std=c++2b", "-O2", "-c", "tools/reference_compile.cc", "-o", os.devnull])
    return time.monotonic() - start if done.returncode == 0 else None


def processor_times():
    """(busy, all) since the machine started, of all processors together, as proc(5) has it in /proc/stat."""
    times = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(times) - times[3] - times[4], sum(times)


def format_stage():
    """clang-format leaves nothing to change; every story has a line that it guards."""
    done = run(["clang-format-19", "--dry-run", "-Werror", *sources(".cc", ".h")])
    yield "clang-format", done.returncode == 0, done.stdout
    done = run([sys.executable, "tools/mutate.py", "--check"])
    yield "tests/mutations.yaml", done.returncode == 0, done.stdout


def tidy_stage():
    """clang-tidy, a short list of checks, every one an error; and whether each file has the headers that it needs."""
    generated = build("asan", "generated")
    if generated.returncode:
        yield "clang-tidy", False, generated.stdout
        return
    database = json.loads((ROOT / "build" / "asan" / "compile_commands.json").read_text())
    files = [n for n in sources(".cc") if n.startswith(("src/", "testbed/")) and not n.endswith("_test.cc")]
    tool = tidy.Tidy(ROOT, database, CACHE / "tidy", ROOT / ".clang-tidy")
    with part("clang-tidy"):
        for name, clean, detail in tool.check(files):
            yield f"clang-tidy {name}", clean, detail
    with part("each file alone"):
        for name, clean, detail in tool.alone(sources(".cc")):
            yield f"{name} alone", clean, detail


def gtest_programs(preset, names=None):
    for program in sorted((ROOT / "build" / preset / "bin").glob("*_test")):
        if program.is_file() and os.access(program, os.X_OK):
            if names is None or program.name.removesuffix("_test") in names:
                yield program


def preset_of(program):
    return program.parent.parent.name


def run_gtest(program, environment):
    report = OUT / f"{preset_of(program)}-{program.name}.json"
    report.unlink(missing_ok=True)
    done = run([str(program), "--gtest_brief=1", f"--gtest_output=json:{report}"],
               env=dict(os.environ, **environment), timeout=GTEST_S)
    if not report.exists():
        yield program.name, False, done.stdout
        return
    for suite in json.loads(report.read_text())["testsuites"]:
        for case in suite["testsuite"]:
            if case["result"] != "COMPLETED":  # skipped, or disabled
                yield f"{program.name} {suite['name']}.{case['name']}", False, "not run: a test runs or is not there"
                continue
            yield f"{program.name} {suite['name']}.{case['name']}", "failures" not in case, done.stdout
    if done.returncode not in (0, 1):
        yield f"{program.name} ended with {done.returncode}", False, done.stdout


def unit_stage():
    """Unit, golden and component tests in C++ under AddressSanitizer and UBSan, with coverage."""
    done = build("asan")
    yield "build asan without warnings", done.returncode == 0, done.stdout
    if done.returncode:
        return
    for data in (ROOT / "build" / "asan").glob("**/*.gcda"):
        data.unlink()
    environment = {"ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
    for program in gtest_programs("asan"):
        with part(program.name):
            yield from run_gtest(program, environment)
    with part("coverage"):
        yield coverage()


def fuzz_stage():
    """Each decoder of foreign bytes is fuzzed for 30 s from its committed corpus."""
    done = build("asan", "fuzz")
    yield "build the fuzz targets", done.returncode == 0, done.stdout
    if done.returncode == 0:
        for target in fuzz.run_all(30, seed=1):
            yield f"fuzz {target.name}", not target.finding, target.finding


def covered_lines(counts, build_folder):
    """Source file -> line number -> whether it ran, of what one object file counted."""
    # One text for each source, of lines "COUNT:NUMBER:CODE"; "-" counts nothing, "#####" never ran.
    done = subprocess.run(["llvm-cov-19", "gcov", "--stdout", str(counts)], cwd=build_folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    covered, lines = {}, {}
    for count, number, code in (line.split(":", 2) for line in done.stdout.splitlines() if line.count(":") > 1):
        if code.startswith("Source:") and int(number) == 0:
            lines = covered.setdefault(os.path.normpath(build_folder / code.removeprefix("Source:")), {})
        elif int(number) and count.strip() != "-":
            ran = count.strip()[0] not in "#="
            lines[int(number)] = lines.get(int(number), False) or ran
    return covered


def coverage():
    """Line coverage of the decision files, which CMake lists."""
    build_folder = ROOT / "build" / "asan"
    files = (build_folder / "decision_files.txt").read_text().split()
    measured = {str(ROOT / name): {} for name in files}
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for covered in pool.map(lambda c: covered_lines(c, build_folder), sorted(build_folder.glob("**/*.gcda"))):
            for name in covered.keys() & measured.keys():
                measured[name] |= {n: ran or measured[name].get(n, False) for n, ran in covered[name].items()}
    total = sum(len(lines) for lines in measured.values())
    ran = sum(sum(lines.values()) for lines in measured.values())
    percent = 100.0 * ran / max(total, 1)
    print(f"   line coverage of {len(files)} decision files: {percent:.1f} %", flush=True)
    missing = [name for name, lines in measured.items() if not lines]
    detail = "\n".join(f"{n}: {100.0 * sum(v.values()) / len(v):.1f} %" for n, v in measured.items() if v)
    return (f"coverage of the decision files at least {COVERAGE_BAR:.0f} %", percent >= COVERAGE_BAR and not missing,
            f"{percent:.1f} %, not measured: {missing}\n{detail}")


def tsan_stage():
    """The tests of what has threads, under ThreadSanitizer."""
    done = build("tsan", *(f"{name}_test" for name in TSAN_TESTS))
    yield "build tsan without warnings", done.returncode == 0, done.stdout
    if done.returncode == 0:
        for program in gtest_programs("tsan", TSAN_TESTS):
            with part(program.name):
                yield from run_gtest(program, {"TSAN_OPTIONS": "halt_on_error=1"})


def pytest_stage(*folders):
    """A pytest run; a skipped test counts as failed."""
    report = OUT / f"{'-'.join(f.replace('/', '_') for f in folders)}.xml"
    report.unlink(missing_ok=True)
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x" if os.environ.get("FAIL_FAST") else "-v",
                           "-p", "no:cacheprovider", f"--junitxml={report}", *folders],
                          cwd=ROOT, check=False, stdout=sys.stderr)
    if not report.exists():
        yield f"pytest {' '.join(folders)}", False, "pytest wrote no report"
        return
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        bad = [c for c in case if c.tag in ("failure", "error", "skipped")]
        module = case.get("classname").rpartition(".")[2]
        PARTS[module] = PARTS.get(module, 0) + float(case.get("time") or 0)
        yield (f"{case.get('classname')}.{case.get('name')}", not bad,
               "\n".join((c.get("message") or "") for c in bad)[:2000])
    if done.returncode not in (0, 1):
        yield f"pytest {' '.join(folders)} ended with {done.returncode}", False, ""


def bed_stage():
    """The test bed's own binaries, then the tests of the bed and of the fake GPUs."""
    with part("build the bed"):
        done = run(["./do", "bed", "build"])
    yield "build the test bed", done.returncode == 0, done.stdout
    done = build("release", "fakegpu_nvml")
    yield "build fakegpu", done.returncode == 0, done.stdout
    yield from pytest_stage("tools", "testbed", "tests/component", "tests/chart")


def stories_stage():
    """User stories on a real cluster."""
    with part("build the image"):
        done = run(["./do", "image"])
    if done.returncode == 0:
        done = build("release", "node_probe")
    yield "build the image", done.returncode == 0, done.stdout
    if done.returncode == 0:
        yield from pytest_stage("tests/cluster")


STAGES = {"format": format_stage, "unit": unit_stage, "tsan": tsan_stage, "fuzz": fuzz_stage, "tidy": tidy_stage,
          "bed": bed_stage, "stories": stories_stage}
# One after the other in a lane; a lane with a niceness gives way to those without.
LANES = [(10, ["format", "unit", "tsan", "fuzz", "tidy"]), (0, ["bed"]), (0, ["stories"])]


def run_lane(niceness, stages, results):
    """Runs stages in this process, each with one result: (stage, number passed, names failed, seconds, its parts)."""
    os.nice(niceness)
    for stage in stages:
        print(f"== {stage}: {STAGES[stage].__doc__}", flush=True)
        start, passed, failed = time.monotonic(), 0, []
        PARTS.clear()
        try:
            for name, ok, detail in STAGES[stage]():
                if ok:
                    passed += 1
                else:
                    failed.append(name)
                    print(f"FAILED {name}\n{detail[-6000:]}", flush=True)
        except Exception as error:
            traceback.print_exc()
            failed.append(f"{stage}: {error}")
        seconds = time.monotonic() - start
        print(f"   {passed} passed in {stage} {seconds:.0f} s", flush=True)
        results.put((stage, passed, failed, seconds, dict(PARTS)))


def main():
    parser = argparse.ArgumentParser(prog="./do test", description="builds, and runs every test")
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=f"some of: {' '.join(STAGES)}")
    parser.add_argument("--kubernetes", metavar="VERSION", help="of every cluster and control plane, such as 1.30.4")
    arguments = parser.parse_args()
    wanted = arguments.stages or list(STAGES)
    unknown = [w for w in wanted if w not in STAGES]
    if unknown:
        parser.error(f"no stage {unknown[0]!r}; there are: {' '.join(STAGES)}")
    if arguments.kubernetes:
        os.environ["GANTRY_KUBERNETES"] = arguments.kubernetes
    OUT.mkdir(parents=True, exist_ok=True)
    results = multiprocessing.Queue()
    lanes = [multiprocessing.Process(target=run_lane, daemon=True,
                                     args=(niceness, [s for s in stages if s in wanted], results))
             for niceness, stages in LANES if set(stages) & set(wanted)]
    reference = reference_compile()
    start, before = time.monotonic(), processor_times()
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
    done = []
    while not results.empty():
        done.append(results.get())
    failed = [name for _, _, names, _, _ in done for name in names]
    failed += [f"{stage}: it did not end" for stage in wanted if stage not in [d[0] for d in done]]
    passed = sum(d[1] for d in done)
    busy, every = (now - then for now, then in zip(processor_times(), before))
    print(f"times: altogether {time.monotonic() - start:.0f} s, processors {100 * busy / max(every, 1):.0f} % busy; "
          f"the reference compile took {f'{reference:.1f} s' if reference else 'no time: it failed'}")
    for stage, _, _, seconds, parts in done:
        long = sorted(((took, name) for name, took in parts.items() if took >= PART_S), reverse=True)
        print(f"  {stage} {seconds:.0f} s" + (": " if long else "") + ", ".join(f"{n} {t:.0f}" for t, n in long[:8]))
    counts = collections.Counter()
    for stage, of_stage, *_ in done:
        counts[COUNTED.get(stage, "other checks")] += of_stage
    print("passed: " + ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    for name in failed:
        print(f"failed: {name}")
    print(f"{passed} passed, {len(failed)} failed")
    sys.exit(0 if passed and not failed else 1)


if __name__ == "__main__":
    main()
