"""Includes point down, as ARCHITECTURE.md draws the rooms, and run in no circle."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
# From the ground up. Rooms of one floor know of one another only what SHARED names.
FLOORS = [["base"], ["elf", "http"], ["kube", "nvml", "host", "container", "kubelet", "policy"], ["nfd", "gpu", "agent"],
          ["operator", "doctor", "operands"], ["cli"]]
SHARED = {"policy/names.h", "policy/reasons.h", "kube/kind.h"}


def floor_of(file):
    room = file.split("/")[0]
    return next(number for number, rooms in enumerate(FLOORS) if room in rooms)


def room_of(file):
    """`operands/device_plugin`: an operand is a room."""
    parts = file.split("/")
    return "/".join(parts[:2 if parts[0] == "operands" else 1])


def sources():
    """File, relative to src -> the files of ours that it includes."""
    return {str(path.relative_to(ROOT / "src")): [name for name in INCLUDE.findall(path.read_text())
                                                  if (ROOT / "src" / name).exists()]
            for path in sorted((ROOT / "src").rglob("*")) if path.suffix in (".cc", ".h")}


def forbidden(included):
    return [f"{file} includes {name}" for file, names in included.items() for name in names
            if name not in SHARED and not file.endswith("_test.cc") and "/testing/" not in file
            and (floor_of(name) > floor_of(file)
                 or (floor_of(name) == floor_of(file) and room_of(name) != room_of(file)))]


def circle(included):
    """Some files that include one another in a circle, or none."""
    done, path = set(), []

    def walk(file):
        if file in path:
            return path[path.index(file):] + [file]
        if file in done:
            return []
        path.append(file)
        found = next(filter(None, map(walk, included.get(file, []))), [])
        path.pop()
        done.add(file)
        return found
    return next(filter(None, map(walk, included)), [])


def test_includes_point_down():
    assert forbidden(sources()) == []


def test_no_circle():
    assert circle(sources()) == []


def test_an_arrow_up_sideways_or_in_a_circle_is_found():
    assert forbidden({"kube/a.cc": ["operator/b.h", "policy/c.h", "policy/names.h", "base/d.h"],
                      "operands/driver/a.cc": ["operands/validator/b.h", "operands/driver/c.h"]}) == [
        "kube/a.cc includes operator/b.h", "kube/a.cc includes policy/c.h",
        "operands/driver/a.cc includes operands/validator/b.h"]
    assert circle({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c", "b"]
