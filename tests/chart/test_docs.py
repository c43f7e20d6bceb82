# SPDX-License-Identifier: Apache-2.0
"""The documents: links lead to files and headings that exist, lines can be read, and every page is in the index."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / name for name in subprocess.run(
    ["git", "ls-files", "*.md"], cwd=ROOT, text=True, capture_output=True, check=True).stdout.split()]
DOCUMENTS = [page for page in PAGES if page.parent == ROOT or ROOT / "docs" in page.parents]
PROSE, ROW = 120, 480  # columns of a line, and of a row of a table, whose last cell may name many tests
# History, generated tables and pages that follow other rules.
OTHER = ("ARCHITECTURE.md", "docs/decisions/", "docs/mutations.md")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def name_of(page):
    return str(page.relative_to(ROOT))


def anchors(page):
    """The fragments that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def links(page):
    """The targets of a page's links and pictures; text between backticks is none."""
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text()))
    return re.findall(r"\]\(([^)\s]+)\)", prose)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    lost = []
    for link in links(page):
        path, _, fragment = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (fragment and fragment not in anchors(target)):
            lost.append(link)
    assert not lost


@pytest.mark.parametrize("page", [page for page in DOCUMENTS if not name_of(page).startswith(OTHER)], ids=name_of)
def test_lines_can_be_read(page):
    lines = FENCE.sub("", page.read_text()).splitlines()
    assert [line for line in lines if len(line) > (ROW if line.startswith("|") else PROSE)] == []


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_paths_between_backticks_exist(page):
    """`docs/x.md` and the like, which readers follow by hand."""
    place = r"`((?:docs|operands|decisions|deploy|src|tests|tools|testbed|bench)/[\w./-]+\.\w+)`"
    named = re.findall(place, page.read_text())
    assert [path for path in named if not (ROOT / path).exists() and not (page.parent / path).exists()] == []


def test_the_index_has_every_page():
    listed = {(ROOT / "docs" / link.partition("#")[0]).resolve() for link in links(ROOT / "docs/README.md")}
    listed |= {(ROOT / "docs/compatibility" / link.partition("#")[0]).resolve()
               for link in links(ROOT / "docs/compatibility/README.md")}
    pages = [page for page in DOCUMENTS if not {"decisions", "guide"} & set(page.relative_to(ROOT).parts)]
    assert [name_of(page) for page in pages if page not in listed and name_of(page) != "docs/README.md"
            and page != ROOT / "README.md"] == []
