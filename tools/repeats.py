#!/usr/bin/env python3
"""Counts repeated places in the C++ sources: pairs of places that share lines of one shape.

The rule: comments, blank lines, includes and lines of punctuation only are left out. In the rest every identifier that
is not a word of the language becomes `i`, every number and character `0`, every string "s" (those that stand beside each
other are one). Two places are a pair if at least LINES (6) consecutive such lines are equal; the pair is as long as that
goes on, and places of one file that overlap are none. Among the lines must be four of different shapes, else they are a
list: a table of names repeats nothing. Tests (*_test.cc, testing/) are left out. The figure says where to look, not what
is wrong.

Printed worst first, a pair a line: the number of lines, then both places. The last line is the total of pairs.
"""
import argparse
import collections
import itertools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIFFERENT = 4  # of the lines' shapes
KEYWORDS = set("""alignas auto bool break case catch char class const constexpr continue default delete do double else enum
explicit extern false final float for friend if inline int long mutable namespace new noexcept nullptr operator override
private protected public return short signed sizeof static static_assert static_cast struct switch template this throw true
try typedef typename union unsigned using virtual void volatile while TRY TRY_ASSIGN""".split())
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
STRINGS = re.compile(r'"s"(?:\s*"s")+')
WORD = re.compile(r'"s"|[A-Za-z_]\w*|\d[\w.\']*')


def shapes(text):
    """(number of the line, its shape) of each line that counts."""

    def without(match):
        found = match.group()
        lines = "\n" * found.count("\n")
        return lines if found.startswith("/") else (lines + "0" if found.startswith("'") else lines + '"s"')

    def shape(match):
        word = match.group()
        return word if word == '"s"' or word in KEYWORDS else "0" if word[0].isdigit() else "i"

    for number, line in enumerate(COMMENT_OR_TEXT.sub(without, text).split("\n"), 1):
        if line.lstrip().startswith("#"):
            continue
        line = re.sub(r"\s+", "", WORD.sub(shape, STRINGS.sub('"s"', line)))
        if re.search(r"\w", line) and not line.startswith("namespace"):
            yield number, line


def pairs(files, least):
    """files: {name: text}. (lines, (name, first line), (name, first line)) of each pair, worst first."""
    lines = {name: list(shapes(text)) for name, text in files.items()}
    places = collections.defaultdict(list)
    for name, found in sorted(lines.items()):
        for at in range(len(found) - least + 1):
            key = tuple(shape for _, shape in found[at:at + least])
            if len(set(key)) >= DIFFERENT:
                places[key].append((name, at))
    meetings = sorted((a, b, j - i, i) for same in places.values() for (a, i), (b, j) in itertools.combinations(same, 2))
    result = []
    last, end = None, 0  # of the pair before: its files and their distance, and where it ends in the first
    for a, b, distance, i in meetings:
        if (a, b, distance) == last and i < end:
            continue
        x, y = lines[a], lines[b]
        end = i + least
        while end < len(x) and end + distance < len(y) and x[end][1] == y[end + distance][1]:
            end += 1
        last = (a, b, distance)
        if a != b or distance >= end - i:
            result.append((end - i, (a, x[i][0]), (b, y[i + distance][0])))
    return sorted(result, key=lambda pair: (-pair[0], pair[1:]))


def sources(folder):
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".cc", ".h") and not path.name.endswith("_test.cc") and "testing" not in path.parts:
            yield str(path.relative_to(folder.parent)), path.read_text()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=6, help="how many equal lines make a pair (6)")
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=ROOT / "src", help="default: src")
    options = parser.parse_args()
    found = pairs(dict(sources(options.folder.resolve())), options.lines)
    for length, (a, i), (b, j) in found:
        print(f"{length:4} {a}:{i} {b}:{j}")
    print(f"{len(found)} pairs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
