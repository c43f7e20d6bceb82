"""Draws docs/status.svg: what `gantry status` prints of the demo's cluster, for README.md.

usage: ./do picture [OUTPUT.svg]
The cluster is $KUBECONFIG, else the bed $GANTRY_BED, else the demo's bed that is up (`./do demo --keep`).
"""

import html
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
GANTRY = ROOT / "build/release/bin/gantry"
LIMIT = 8192  # bytes of a picture that a README loads
ADVANCE, LINE, FONT, EDGE, BAR = 7.8, 19, 13, 16, 30  # pixels: width of a character, height of a line, ..., title bar

STYLE = """
text{font:%dpx ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328}
.back{fill:#f6f8fa;stroke:#d0d7de}.head{font-weight:bold}.dim{fill:#656d76}.good{fill:#1a7f37}.bad{fill:#cf222e}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.back{fill:#161b22;stroke:#30363d}
.dim{fill:#8d96a0}.good{fill:#3fb950}.bad{fill:#f85149}}
""" % FONT


def cells(line):
    """The cells of a line of a table, each with the column at which it begins: two blanks or more divide them."""
    return [(match.start(), match.group()) for match in re.finditer(r"\S+(?: \S+)*", line)]


def kind(cell, heading):
    """The class of a cell: a heading, good or bad news, or none."""
    if heading:
        return "head"
    if cell == "ready" or cell.endswith(": ready"):
        return "good"
    share = re.fullmatch(r"(\d+)/(\d+)", cell)
    if share:
        return "good" if share[1] == share[2] else "bad"
    return "bad" if re.search(r"unhealthy|not ?ready|failed", cell, re.IGNORECASE) else ""


def text(cell, column, row, name):
    """A cell at its place. Its length is given, so columns hold whatever the font is."""
    words = f' class="{name}"' if name else ""
    return (f'<text x="{EDGE + column * ADVANCE:g}" y="{BAR + (row + 1) * LINE}" textLength="{len(cell) * ADVANCE:g}"'
            f"{words}>{html.escape(cell, quote=False)}</text>")


def svg(printed, command="gantry status"):
    """The picture of a terminal in which a command printed this text."""
    lines = ["".join(c for c in line if c.isprintable()) for line in printed.rstrip("\n").split("\n")]
    rows = [f"$ {command}", *lines]
    width = 2 * EDGE + max(map(len, rows)) * ADVANCE
    height = BAR + (len(rows) + 1) * LINE
    drawn = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" width="{width:g}" '
             f'height="{height}" role="img">', f"<title>{html.escape(command, quote=False)}</title>",
             f"<style>{STYLE}</style>",
             f'<rect class="back" x=".5" y=".5" width="{width - 1:g}" height="{height - 1}" rx="8"/>']
    drawn += [f'<circle cx="{EDGE + 4 + 18 * i}" cy="15" r="5" fill="{colour}"/>'
              for i, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))]
    drawn.append(text(rows[0], 0, 0, "dim"))
    for row, line in enumerate(lines, start=1):
        found = cells(line)
        heading = len(found) > 1 and all(cell.isupper() for _, cell in found)
        drawn += [text(cell, column, row, kind(cell, heading)) for column, cell in found]
    return "\n".join([*drawn, "</svg>"]) + "\n"


def kubeconfig(environment, listed):
    """The kubeconfig to ask, of the environment or of the beds that `./do bed list` names; None if there is none."""
    if environment.get("KUBECONFIG"):
        return environment["KUBECONFIG"]
    for line in listed.splitlines():
        name, state, _, config = line.split("\t")
        if state == "up" and (name == environment["GANTRY_BED"] if environment.get("GANTRY_BED")
                              else name.startswith("demo-")):
            return config.removeprefix("KUBECONFIG=")
    return None


def main():
    listed = subprocess.run(["./do", "bed", "list"], cwd=ROOT, text=True, capture_output=True, check=False).stdout
    config = kubeconfig(os.environ, listed)
    if config is None:
        sys.exit("picture: no demo bed is up. Run `./do demo --keep` first, then `./do picture`; or set KUBECONFIG")
    if not GANTRY.exists():
        sys.exit(f"picture: {GANTRY.relative_to(ROOT)} is missing. Run `./do build release gantry` first")
    done = subprocess.run([GANTRY, "status", "--kubeconfig", config], text=True, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"picture: gantry status ended with {done.returncode}: {done.stderr.strip()}")
    picture = svg(done.stdout)
    if len(picture.encode()) > LIMIT:
        sys.exit(f"picture: {len(picture.encode())} bytes, more than {LIMIT}: use a cluster with fewer nodes")
    output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/status.svg"
    output.write_text(picture)
    print(f"{output}: {len(picture.encode())} bytes")


if __name__ == "__main__":
    main()
