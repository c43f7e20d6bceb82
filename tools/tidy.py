"""clang-tidy over batches of source files.

Most of clang-tidy's time goes into what a file includes, so one unit includes a dozen files of a folder. Files that
use one name for two things in their anonymous namespaces go into different batches. Where a batch does not compile
all the same, or something is found in it, its files are checked one by one, and what that says counts.
"""

import collections
import concurrent.futures
import hashlib
import os
import pathlib
import re
import shlex
import subprocess

BATCH = 12
ANONYMOUS = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
TYPE = re.compile(r"^(?:struct|class|enum class|enum|union) (\w+)", re.MULTILINE)
ALIAS = re.compile(r"^using (?:[\w:]+::)?(\w+)(?: =.*)?;", re.MULTILINE)
OTHER = re.compile(r"^(?!using |struct |class |enum |union |template |namespace )[A-Za-z][^\n]*?\b(\w+) ?[(={\[;]",
                   re.MULTILINE)


def names(text):
    """What a file declares in anonymous namespaces: name -> its text if another file may declare the same, else None."""
    found = {}
    for block in ANONYMOUS.findall(text):
        for match in (*TYPE.finditer(block), *OTHER.finditer(block)):
            found[match[1]] = None
        for match in ALIAS.finditer(block):
            found[match[1]] = match[0]
    return found


def clash(one, other):
    return any(name in other and (text is None or other[name] != text) for name, text in one.items())


def batches(files, text_of, key_of):
    """Divides files: at most BATCH in one, all of one key, no two that clash. In the order of the files."""
    divided = collections.defaultdict(list)
    for file in files:
        own = names(text_of(file))
        for batch in divided[key_of(file)]:
            if len(batch) < BATCH and not any(clash(own, other) for _, other in batch):
                batch.append((file, own))
                break
        else:
            divided[key_of(file)].append([(file, own)])
    return [[file for file, _ in batch] for of_key in divided.values() for batch in of_key]


def run(command, cwd):
    return subprocess.run(command, cwd=cwd, text=True, errors="replace", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)


class Tidy:
    """`database`: the entries of compile_commands.json. `clean`: a folder with an empty file for each text found clean."""

    def __init__(self, root, database, clean, config):
        self.root, self.clean, self.config = pathlib.Path(root), pathlib.Path(clean), pathlib.Path(config)
        self.entries = {entry["file"]: entry for entry in database}

    def arguments(self, name):
        command = shlex.split(self.entries[str(self.root / name)]["command"])
        start = next(i for i, word in enumerate(command) if word.endswith(("clang++-19", "clang-19")))
        return [word for word in command[start:command.index("-o")] if word != "--coverage"]

    def check(self, files):
        """Yields (file, whether it is clean, what was found)."""
        known = [file for file in files if str(self.root / file) in self.entries]
        for file in sorted(set(files) - set(known)):
            yield file, False, "not in compile_commands.json"
        divided = batches(known, lambda f: (self.root / f).read_text(),
                          lambda f: (os.path.dirname(f), tuple(self.arguments(f))))
        with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            for results in pool.map(self.batch, divided):
                yield from results

    def batch(self, files):
        entry = self.entries[str(self.root / files[0])]
        compiler, *arguments = self.arguments(files[0])
        text = "".join(f'#include "{self.root / file}"\n' for file in files)
        unit = pathlib.Path(entry["directory"]) / "tidy" / (hashlib.sha256(text.encode()).hexdigest()[:16] + ".cc")
        unit.parent.mkdir(exist_ok=True)
        unit.write_text(text)
        expanded = run([compiler, *arguments, "-E", "-P", str(unit)], entry["directory"]).stdout.encode()
        key = hashlib.sha256(expanded + b"".join((self.root / file).read_bytes() for file in files)
                             + self.config.read_bytes()).hexdigest()
        if (self.clean / key).exists():
            return [(file, True, "") for file in files]
        # Warnings are the build's, and a batch has more to shadow.
        done = run(["clang-tidy-19", "--quiet", f"--config-file={self.config}",
                    r"--header-filter=(src|testbed)/.*\.(h|cc)$", str(unit), "--", *arguments, "-w"], entry["directory"])
        results = [(file, done.returncode == 0, done.stdout) for file in files]
        if done.returncode and len(files) > 1:
            results = [result for file in files for result in self.batch([file])]
            if all(ok for _, ok, _ in results) and "clang-diagnostic-error" not in done.stdout:
                results.append((f"{', '.join(files)} in one unit", False, done.stdout))
        if all(ok for _, ok, _ in results):
            self.clean.mkdir(parents=True, exist_ok=True)
            (self.clean / key).touch()
        return results
