"""What clang-tidy finds in a file alone, it finds in a batch."""

import pathlib

import tidy

ROOT = pathlib.Path(__file__).resolve().parent.parent
MISTAKES = {
    "bugprone-use-after-move": "#include <string>\n#include <utility>\n"
                               "std::string Moved(std::string a) { std::string b = std::move(a); return a + b; }\n",
    "bugprone-unchecked-optional-access": "#include <optional>\nint Value(std::optional<int> a) { return *a; }\n",
    "bugprone-integer-division": "double Half(int a) { return a / 2; }\n",
    "bugprone-empty-catch": "void Run();\nvoid Quiet() { try { Run(); } catch (...) {} }\n",
    "bugprone-unused-raii": "#include <mutex>\nstd::mutex m;\nvoid Lock() { std::unique_lock<std::mutex>{m}; }\n",
    "cppcoreguidelines-avoid-non-const-global-variables": "int counter = 0;\n",
    "modernize-use-nullptr": "int* None() { return 0; }\n",
    "readability-container-size-empty": "#include <string>\nbool Any(const std::string& a) { return a.size() != 0; }\n",
}
CLEAN = "namespace {\nconstexpr int kLimit = 3;\n}  // namespace\nint Limit() { return kLimit; }\n"


def tidied(folder, texts):
    (folder / "src").mkdir()
    database = []
    for name, text in texts.items():
        (folder / name).write_text(text)
        database.append({"file": str(folder / name), "directory": str(folder),
                         "command": f"ccache clang++-19 -std=c++2b -o x -c {folder / name}"})
    return tidy.Tidy(folder, database, folder / "clean", ROOT / ".clang-tidy")


def test_each_mistake_is_found_in_a_batch(tmp_path):
    texts = {f"src/{check}.cc": text for check, text in MISTAKES.items()} | {"src/clean.cc": CLEAN}
    results = {name: (ok, detail) for name, ok, detail in tidied(tmp_path, texts).check(list(texts))}
    assert len(results) == len(texts)
    for check in MISTAKES:
        ok, detail = results[f"src/{check}.cc"]
        assert not ok and check in detail, check
    assert results["src/clean.cc"][0]


def test_a_mistake_in_a_header_is_found(tmp_path):
    texts = {"src/a.cc": '#include "a.h"\n', "src/b.cc": CLEAN}
    tool = tidied(tmp_path, texts)
    (tmp_path / "src/a.h").write_text(MISTAKES["bugprone-integer-division"].replace("double", "inline double"))
    results = {name: ok for name, ok, _ in tool.check(list(texts))}
    assert results == {"src/a.cc": False, "src/b.cc": True}


def test_what_is_clean_alone_is_clean_where_the_batch_does_not_compile(tmp_path):
    # The name is hidden from the division into batches by its place in the middle of a line.
    texts = {f"src/{name}.cc": "namespace { struct Same {}; }\nvoid NAME(Same) {}\n".replace("NAME", name) for name in "ab"}
    tool = tidied(tmp_path, texts)
    assert len(tidy.batches(list(texts), lambda f: texts[f], lambda f: "")) == 1
    assert all(ok for _, ok, _ in tool.check(list(texts)))
    assert all(ok for _, ok, _ in tool.check(list(texts)))  # now out of the folder of what is clean


def test_files_that_use_one_name_for_two_things_are_apart():
    two = {"a": CLEAN, "b": CLEAN.replace("Limit()", "Other()"), "c": "int Third() { return 3; }\n"}
    assert tidy.batches(list(two), two.get, lambda f: "") == [["a", "c"], ["b"]]


def test_a_file_that_nothing_compiles_is_told(tmp_path):
    tool = tidied(tmp_path, {"src/a.cc": CLEAN})
    assert list(tool.check(["src/new.cc"])) == [("src/new.cc", False, "not in compile_commands.json")]
