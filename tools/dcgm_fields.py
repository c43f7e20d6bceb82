# SPDX-License-Identifier: Apache-2.0
"""Writes the column "served" of docs/compatibility/dcgm_fields.md from what the exporter says that it knows.

usage: dcgm_fields.py GANTRY [--check]
Rows are DCGM's fields, which the page itself lists. --check writes nothing and fails where the page says something else.
"""

import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/compatibility/dcgm_fields.md"
NAME, BEFORE, SERVED = 1, 2, 5  # columns


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def served_by(gantry):
    """Each name that a counters file may have."""
    printed = subprocess.run([gantry, "dcgm-exporter", "--list-fields"], check=True, text=True, capture_output=True)
    return set(printed.stdout.split())


def updated(text, served):
    """The page's text, and the names that are served and in no row."""
    lines, known = [], set()
    for line in text.splitlines():
        row = cells(line)
        if line.startswith("| ") and row[0].isdigit():
            names = {row[NAME].strip("`"), row[BEFORE].strip("`")} - {""}
            known |= names
            row[SERVED] = "yes" if names and names <= served else "no"
            line = "| " + " | ".join(row) + " |"
        lines.append(line)
    rows = [cells(line)[SERVED] for line in lines if line.startswith("| ") and cells(line)[0].isdigit()]
    lines = [f"{rows.count('yes')} of {len(rows)} fields are served." if " fields are served." in line else line
             for line in lines]
    return "\n".join(lines) + "\n", {name for name in served - known if not name.startswith("DCGM_EXP_")}


def main():
    text = PAGE.read_text()
    new, lost = updated(text, served_by(sys.argv[1]))
    if lost:
        sys.exit(f"no row of {PAGE.name} has: {' '.join(sorted(lost))}")
    if "--check" not in sys.argv:
        PAGE.write_text(new)
    elif new != text:
        sys.exit(f"{PAGE.name} does not say what is served: tools/dcgm_fields.py GANTRY")


if __name__ == "__main__":
    main()
