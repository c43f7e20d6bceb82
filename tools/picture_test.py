"""A picture of `gantry status` keeps its columns, escapes what XML reads as markup, and stays small."""

import xml.etree.ElementTree

import picture

PRINTED = """ClusterPolicy cluster-policy: ready

OPERAND                READY
gpu-feature-discovery  1/2

NODE  STAGE           ALLOCATABLE  PRODUCT   DRIVER  CUDA
n1    GPUs unhealthy  gpu=7/8      Tesla-T4  535.1   -
n10   ready           gpu=8        Tesla-T4  535.1   -
"""
SVG = "{http://www.w3.org/2000/svg}"


def texts(drawn):
    return [(float(one.get("x")), int(one.get("y")), one.get("class"), one.text)
            for one in xml.etree.ElementTree.fromstring(drawn).iter(SVG + "text")]


def test_two_blanks_divide_cells():
    assert picture.cells("n1    GPUs unhealthy  gpu=7/8") == [(0, "n1"), (6, "GPUs unhealthy"), (22, "gpu=7/8")]
    assert picture.cells("") == []


def test_a_column_has_one_place():
    drawn = texts(picture.svg(PRINTED))
    places = {x for x, _, _, text in drawn if text in ("STAGE", "GPUs unhealthy") or (text == "ready")}
    assert places == {picture.EDGE + 6 * picture.ADVANCE}
    words = ("$ gantry status", "ClusterPolicy cluster-policy: ready", "n1", "n10")
    rows = [y for _, y, _, text in drawn if text in words]
    assert rows == [picture.BAR + picture.LINE * row for row in (1, 2, 8, 9)]


def test_cells_have_the_class_of_their_news():
    classes = {text: name for _, _, name, text in texts(picture.svg(PRINTED))}
    assert classes["ClusterPolicy cluster-policy: ready"] == classes["ready"] == "good"
    assert classes["GPUs unhealthy"] == classes["1/2"] == "bad"
    assert classes["NODE"] == classes["READY"] == "head"
    assert classes["Tesla-T4"] is None and classes["-"] is None
    assert picture.kind("ClusterPolicy cluster-policy: notReady", False) == "bad"


def test_markup_is_escaped_and_control_characters_are_dropped():
    drawn = picture.svg("a <b> & \"c\"  d\x1b[K\n")
    assert [text for *_, text in texts(drawn)] == ["$ gantry status", "a <b> & \"c\"", "d[K"]


def test_it_is_readable_in_the_dark_and_small():
    drawn = picture.svg(PRINTED + "n2    ready           gpu=8        Tesla-T4  535.1   12.2\n" * 4)
    assert "prefers-color-scheme:dark" in drawn
    assert len(drawn.encode()) < picture.LIMIT


def test_the_demos_bed_is_found():
    listed = "other\tup\tn1\tKUBECONFIG=/o\ndemo-1\thalf made\tn1\tKUBECONFIG=/1\ndemo-2\tup\tn1,n2\tKUBECONFIG=/2\n"
    assert picture.kubeconfig({}, listed) == "/2"
    assert picture.kubeconfig({"GANTRY_BED": "other"}, listed) == "/o"
    assert picture.kubeconfig({"KUBECONFIG": "/k"}, "") == "/k"
    assert picture.kubeconfig({}, "other\tup\tn1\tKUBECONFIG=/o\n") is None
