#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a C file with a weak definition of every function that nvml.h declares: it answers NOT_SUPPORTED.

usage: generate_rest.py nvml.h OUTPUT.c
What the library really answers is defined strongly in its own files and wins over these at link time.
"""
import pathlib
import re
import sys


def declared(header: str) -> list[str]:
    """Names of all functions of the header, old and new, without comments' mentions."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", header, flags=re.S)
    return sorted(set(re.findall(r"DECLDIR\s+(?:char\s*\*\s*)?(nvml\w+)\s*\(", code)))


def main() -> None:
    header, output = map(pathlib.Path, sys.argv[1:])
    lines = ["/* Made by generate_rest.py from nvml.h. */", "enum { kNotSupported = 3 };"]
    lines += [f'__attribute__((weak, visibility("default"))) int {name}(void) {{ return kNotSupported; }}'
              for name in declared(header.read_text(encoding="utf-8")) if name != "nvmlErrorString"]
    output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
