"""Are the user stories able to fail? `./do mutate [NAME...]` takes lines out of Gantry and runs them.

tests/mutations.yaml says which line each story guards. One entry at a time is applied to a git worktree of HEAD, the
image is built again if it changes, and the entry's stories run in a bed of their own. A story is "killed" if it failed
with the text that the entry expects; anything else counts as "survived". `--check` runs nothing: it says whether every
line is still found and every story is named; `--write` puts what was seen into docs/mutations.md.
"""

import argparse
import datetime
import fcntl
import os
import pathlib
import subprocess
import sys
import time
import xml.etree.ElementTree

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "mutations.yaml"
RESULTS = ROOT / "docs" / "mutations.md"
OUT = ROOT / "out" / "mutate"
TREE = OUT / "tree"
STORIES = "tests/cluster"
# Only Helm reads these: the image stays as it is.
CHART = "deploy/chart/"


class Mistake(Exception):
    """An entry that can't be applied, or a tree that can't be built."""


def run(*command, log, cwd=TREE, **options):
    with open(log, "a", encoding="utf-8") as out:
        return subprocess.run(command, cwd=cwd, stdout=out, stderr=subprocess.STDOUT, check=False, **options).returncode


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, text=True, capture_output=True, check=True).stdout.strip()


def mutated(text, change):
    """The file's text without the change's line, or with another in its place."""
    lines = text.splitlines()
    start = 0
    for context in change.get("after", []):
        start = next((i + 1 for i in range(start, len(lines)) if context in lines[i]), None)
        if start is None:
            raise Mistake(f"{change['file']}: no line has {context!r}")
    found = [i for i in range(start, len(lines)) if lines[i].strip() == change["line"]]
    if not found:
        raise Mistake(f"{change['file']}: no line is {change['line']!r}")
    if len(found) > 1 and "after" not in change:
        raise Mistake(f"{change['file']}: {len(found)} lines are {change['line']!r}; `after` tells them apart")
    at = found[0]
    indent = lines[at][:len(lines[at]) - len(lines[at].lstrip())]
    lines[at:at + 1] = [indent + line for line in change.get("with", "").splitlines()]
    return "\n".join(lines) + "\n"


def collected():
    """Every story, as pytest names it."""
    done = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", STORIES],
                          cwd=ROOT, text=True, capture_output=True, check=False)
    return [line for line in done.stdout.splitlines() if "::" in line]


def check(entries):
    """What the list lacks."""
    problems, named, stories = [], [], collected()
    for change in (change for entry in entries for change in entry["changes"]):
        named += change["kills"]
        try:
            mutated((ROOT / change["file"]).read_text(), change)
        except (Mistake, OSError) as mistake:
            problems.append(str(mistake))
    problems += [f"no mutation for {story}" for story in stories if story not in named]
    named += [story for entry in entries for story in entry.get("first", [])]
    return problems + [f"no such story: {story}" for story in named if story not in stories]


class Tree:
    """A worktree of HEAD that is built again only where it must be."""

    def __init__(self):
        self.remove()
        git("worktree", "add", "--detach", str(TREE), "HEAD")
        self.in_image = None  # the changed files that the image was built with

    @staticmethod
    def remove():
        subprocess.run(["git", "worktree", "remove", "--force", str(TREE)], cwd=ROOT, capture_output=True, check=False)
        git("worktree", "prune")

    def apply(self, changes):
        for change in changes:
            path = TREE / change["file"]
            if not path.exists():
                raise Mistake(f"{change['file']} is not there")
            path.write_text(mutated(path.read_text(), change))

    def build(self, changes, log):
        files = {c["file"] for c in changes if not c["file"].startswith(CHART)}
        if files == self.in_image == set():
            return
        self.in_image = None
        if (run("./do", "build", "release", "gantry", "gantry-runtime", "gantry-ctk", "gantry-cuda", "fakegpu_nvml", "node_probe", log=log)
                or run("./do", "image", log=log)):
            raise Mistake(f"the tree with these changes is not built: {log}")
        self.in_image = files

    @staticmethod
    def undo():
        subprocess.run(["git", "checkout", "-q", "."], cwd=TREE, check=True)


def outcomes(report):
    """Story -> (passed, failed or error; what was said)."""
    seen = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        story = f"{case.get('classname').replace('.', '/')}.py::{case.get('name')}"
        said = [(c.tag, f"{c.get('message')}\n{c.text}") for c in case if c.tag in ("failure", "error", "skipped")]
        failure = next((text for tag, text in said if tag == "failure"), None)
        if failure is not None:
            seen[story] = ("failed", failure)
        elif said:
            seen.setdefault(story, ("error", said[0][1]))
        else:
            seen.setdefault(story, ("passed", ""))
    return seen


def last_line(text):
    """What pytest says was wrong: the first line that it marks with E."""
    marked = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
    return (marked or text.splitlines() or [""])[0][:160]


def try_entry(entry, tree):
    """(story, change, killed, what was seen) of each story of an entry."""
    log, report = OUT / f"{entry['name']}.log", OUT / f"{entry['name']}.xml"
    log.unlink(missing_ok=True)
    report.unlink(missing_ok=True)
    changes = entry["changes"]
    stories = list(dict.fromkeys(story for change in changes for story in change["kills"]))
    try:
        tree.apply(changes)
        tree.build(changes, log)
        run(sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", f"--junitxml={report}", *entry.get("first", []),
            *stories, log=log, env={k: v for k, v in os.environ.items() if k != "GANTRY_BED"})
    finally:
        tree.undo()
    if not report.exists():
        raise Mistake(f"pytest wrote no report: {log}")
    seen = outcomes(report)
    for change in changes:
        for story, text in change["kills"].items():
            how, said = seen.get(story, ("not run", ""))
            if how == "passed":
                yield story, change, False, "passed"
            elif how == "failed" or (how == "error" and entry.get("fixture", False)):
                killed = text in said
                yield story, change, killed, last_line(said) if killed else f"not {text!r}: {last_line(said)}"
            else:
                yield story, change, False, f"{how}: {last_line(said)}"


def described(change):
    if "with" in change:
        return f"{change['line']} -> {' / '.join(change['with'].split(chr(10))).strip(' /')}"
    return change["line"]


def cell(text):
    return text.replace("|", "\\|")


def write(rows):
    """Puts rows into the table of docs/mutations.md; those of stories that did not run stay."""
    head, known = [], {}
    for line in RESULTS.read_text().splitlines():
        if line.startswith("| `test_"):
            known[line.split("`")[1]] = line
        else:
            head.append(line)
    today = datetime.date.today().isoformat()
    for story, change, killed, _ in rows:
        name = story.removeprefix(STORIES + "/")
        known[name] = (f"| `{name}` | {change['file']} | `` {cell(described(change))} `` "
                       f"| {'killed' if killed else 'survived'} | {today} |")
    order = [story.removeprefix(STORIES + "/") for story in collected()]
    RESULTS.write_text("\n".join(head + [known[name] for name in order if name in known]) + "\n")


def main():
    parser = argparse.ArgumentParser(prog="./do mutate", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", help="entries of tests/mutations.yaml; none: all")
    parser.add_argument("--check", action="store_true", help="only: is every line found, and every story named?")
    parser.add_argument("--write", action="store_true", help="also put what was seen into docs/mutations.md")
    options = parser.parse_args()
    entries = yaml.safe_load(LIST.read_text())
    if options.check:
        problems = check(entries)
        sys.exit("\n".join(problems) if problems else 0)
    unknown = set(options.names) - {entry["name"] for entry in entries}
    if unknown:
        sys.exit(f"mutate: no entry {', '.join(sorted(unknown))}; there are: {', '.join(e['name'] for e in entries)}")
    OUT.mkdir(parents=True, exist_ok=True)
    lock = open(OUT / "lock", "w", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"mutate: another run works in {TREE}")
    results, broken = [], []
    tree = Tree()
    try:
        for entry in entries:
            if options.names and entry["name"] not in options.names:
                continue
            start = time.monotonic()
            print(f"== {entry['name']}", flush=True)
            try:
                rows = list(try_entry(entry, tree))
                for story, change, killed, said in rows:
                    results.append(killed)
                    print(f"   {'killed  ' if killed else 'SURVIVED'} {story.removeprefix(STORIES + '/')}\n"
                          f"            {change['file']}: {described(change)}\n            {said}", flush=True)
                if options.write:
                    write(rows)
            except Mistake as mistake:
                broken.append(entry["name"])
                print(f"   BROKEN   {mistake}", flush=True)
            print(f"   {time.monotonic() - start:.0f} s", flush=True)
    finally:
        tree.remove()
    killed = sum(results)
    print(f"{killed} killed, {len(results) - killed} survived" + (f", broken: {', '.join(broken)}" if broken else ""))
    sys.exit(0 if results and killed == len(results) and not broken else 1)


if __name__ == "__main__":
    main()
