"""Which places count as repeated: the shape of their lines does, the names in them and a list of names do not."""

import repeats

ONE = """int Read(const Flags& flags) {
  const auto text = Open(flags.path, 3);
  if (!text) {
    return Fail("open it");
  }
  for (const auto& line : *text) {
    Add(line);
  }
  return 0;
}
"""
# Other names, numbers and texts, other breaks and comments; the same shape.
OTHER = """// What is written?
int Write(const Options& options) {

  const auto file = Make(options.name, 17);  // anew
  if (!file) {
    return Fail("make " "it");
  }
  for (const auto& word : *file) {
    Put(word);
  }
  return 1;
}
"""


def test_names_numbers_texts_and_comments_do_not_differ():
    assert repeats.pairs({"a.cc": ONE, "b.cc": OTHER}, 6) == [(7, ("a.cc", 1), ("b.cc", 2))]
    assert repeats.pairs({"a.cc": ONE, "b.cc": OTHER}, 8) == []


def test_another_operator_ends_a_pair():
    assert repeats.pairs({"a.cc": ONE, "b.cc": OTHER.replace("!file", "file")}, 6) == []


def test_a_place_within_one_file_and_one_pair_for_all_its_lines():
    assert repeats.pairs({"a.cc": ONE + ONE}, 5) == [(7, ("a.cc", 1), ("a.cc", 11))]


def test_a_list_repeats_nothing():
    names = "".join(f'constexpr char kName{i}[] = "{i}";\n' for i in range(20))
    assert repeats.pairs({"a.h": names, "b.h": names}, 6) == []


def test_worst_first():
    found = repeats.pairs({"a.cc": ONE + OTHER, "b.cc": OTHER + "struct X {};\n" + ONE, "c.cc": ONE + OTHER}, 6)
    assert [length for length, *_ in found] == sorted((length for length, *_ in found), reverse=True)
