"""clang-tidy over the units that the build compiles, and each file alone through the compiler's front.

Most of clang-tidy's time goes into what a file includes; a unit of the build includes a dozen files of a folder
(`gantry_batch` in cmake/Gantry.cmake). A header that a file forgets may come with its neighbours there, so each file
is also read alone.
"""

import concurrent.futures
import hashlib
import os
import pathlib
import re
import shlex
import subprocess

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def run(command, cwd):
    return subprocess.run(command, cwd=cwd, text=True, errors="replace", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)


class Tidy:
    """`database`: the entries of compile_commands.json. `clean`: a folder with an empty file for each text found clean."""

    def __init__(self, root, database, clean, config):
        self.root, self.clean, self.config = pathlib.Path(root), pathlib.Path(clean), pathlib.Path(config)
        self.units = {}  # file -> (entry, the files of its unit)
        for entry in database:
            files = self.files_of(pathlib.Path(entry["file"]))
            self.units |= {file: (entry, files) for file in files}

    def files_of(self, unit):
        """What a unit compiles, relative to the root: itself, or what it includes if the build wrote it."""
        if self.root / "build" not in unit.parents:
            return [str(unit.relative_to(self.root))] if self.root in unit.parents else []
        return [f"src/{name}" for name in INCLUDE.findall(unit.read_text()) if name.endswith(".cc")]

    @staticmethod
    def arguments(entry):
        command = shlex.split(entry["command"])
        start = next(i for i, word in enumerate(command) if word.endswith(("clang++-19", "clang-19")))
        return [word for word in command[start:command.index("-o")] if word != "--coverage"]

    def check(self, files):
        """Yields (file, whether it is clean, what was found)."""
        for file in sorted(set(files) - set(self.units)):
            yield file, False, "not in compile_commands.json"
        wanted = {self.units[file][0]["file"]: self.units[file] for file in files if file in self.units}
        yield from self.each(self.tidied, wanted.values())

    def alone(self, files):
        """The same for files that are compiled together with others: whether each has all that it needs."""
        together = [file for file in files if len(self.units.get(file, (None, []))[1]) > 1]
        yield from self.each(self.parsed, together)

    @staticmethod
    def each(check, things):
        with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            for results in pool.map(check, things):
                yield from results

    def known(self, *parts):
        return self.clean / hashlib.sha256(b"\0".join(parts)).hexdigest()

    def remember(self, mark):
        self.clean.mkdir(parents=True, exist_ok=True)
        mark.touch()

    def tidied(self, unit):
        entry, files = unit
        compiler, *arguments = self.arguments(entry)
        expanded = run([compiler, *arguments, "-E", "-P", entry["file"]], entry["directory"]).stdout.encode()
        mark = self.known(expanded, *((self.root / file).read_bytes() for file in files), self.config.read_bytes())
        if mark.exists():
            return [(file, True, "") for file in files]
        # Warnings are the build's.
        done = run(["clang-tidy-19", "--quiet", f"--config-file={self.config}",
                    r"--header-filter=(src|testbed)/.*\.(h|cc)$", entry["file"], "--", *arguments, "-w"],
                   entry["directory"])
        if done.returncode == 0:
            self.remember(mark)
            return [(file, True, "") for file in files]
        guilty = [file for file in files if f"{file}:" in done.stdout] or files
        return [(file, file not in guilty, done.stdout if file in guilty else "") for file in files]

    def parsed(self, file):
        entry, _ = self.units[file]
        arguments = self.arguments(entry)
        mark = self.known(b"alone", " ".join(arguments).encode(), *self.texts(file))
        if mark.exists():
            return [(file, True, "")]
        done = run([*arguments, "-fsyntax-only", str(self.root / file)], entry["directory"])
        if done.returncode == 0:
            self.remember(mark)
        return [(file, done.returncode == 0, done.stdout)]

    def texts(self, file):
        """The file's text and those of our headers that it includes, and they."""
        seen, left = {}, [file]
        while left:
            name = left.pop()
            path = self.root / name
            if name in seen or not path.exists():
                continue
            seen[name] = path.read_bytes()
            left += [f"src/{included}" for included in INCLUDE.findall(seen[name].decode())]
        return [seen[name] for name in sorted(seen)]
