"""What clang-tidy finds in a file alone, it finds in a unit of several; a file that needs its neighbours is found."""

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
    """All of them in one unit, as the build writes it."""
    (folder / "src").mkdir()
    (folder / "build").mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text)
    unit = folder / "build" / "all.cc"
    unit.write_text("".join(f'#include "{name.removeprefix("src/")}"  // NOLINT\n' for name in texts if name.endswith(".cc")))
    database = [{"file": str(unit), "directory": str(folder),
                 "command": f"ccache clang++-19 -std=c++2b -I{folder}/src -o x -c {unit}"}]
    return tidy.Tidy(folder, database, folder / "clean", ROOT / ".clang-tidy")


def test_each_mistake_is_found_in_a_unit_of_several(tmp_path):
    texts = {f"src/{check}.cc": text for check, text in MISTAKES.items()} | {"src/clean.cc": CLEAN}
    tool = tidied(tmp_path, texts)
    for _ in range(2):  # what is not clean is not remembered
        results = {name: (ok, detail) for name, ok, detail in tool.check(list(texts))}
        assert len(results) == len(texts)
        for check in MISTAKES:
            ok, detail = results[f"src/{check}.cc"]
            assert not ok and check in detail, check
        assert results["src/clean.cc"][0]


def test_a_mistake_in_a_header_is_found(tmp_path):
    tool = tidied(tmp_path, {"src/a.cc": '#include "a.h"\n', "src/b.cc": CLEAN})
    (tmp_path / "src/a.h").write_text("inline int Half() { return 1; }\n")
    assert all(ok for _, ok, _ in tool.check(["src/a.cc", "src/b.cc"]))
    (tmp_path / "src/a.h").write_text(MISTAKES["bugprone-integer-division"].replace("double", "inline double"))
    assert not any(ok for _, ok, _ in tool.check(["src/a.cc", "src/b.cc"]))


def test_a_file_that_needs_its_neighbours_is_found(tmp_path):
    texts = {"src/a.cc": "#include <vector>\nint A() { return static_cast<int>(std::vector<int>{1}.size()); }\n",
             "src/b.cc": '#include "b.h"\nint B(const std::vector<int>& b) { return static_cast<int>(b.size()); }\n',
             "src/b.h": "#include <string>\n"}
    tool = tidied(tmp_path, texts)
    files = ["src/a.cc", "src/b.cc"]
    assert all(ok for _, ok, _ in tool.check(files))
    assert {file: ok for file, ok, _ in tool.alone(files)} == {"src/a.cc": True, "src/b.cc": False}
    (tmp_path / "src/b.h").write_text("#include <vector>\n")
    assert all(ok for _, ok, _ in tool.alone(files))
    (tmp_path / "src/b.h").write_text("#include <string>\n")
    assert not all(ok for _, ok, _ in tool.alone(files)), "a header that changed is read again"


def test_a_file_that_nothing_compiles_is_told(tmp_path):
    tool = tidied(tmp_path, {"src/a.cc": CLEAN})
    assert list(tool.check(["src/new.cc"])) == [("src/new.cc", False, "not in compile_commands.json")]
