// SPDX-License-Identifier: Apache-2.0
// A list answer and a watch stream, cut while they arrive. The cuts do not depend on how the
// network split the bytes, and what is cut out of JSON is JSON.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/json.h"
#include "kube/list_scanner.h"

namespace gantry::kube {
namespace {

struct Cut {
  std::vector<std::string> items;
  std::string envelope;
  std::vector<std::string> lines;
  bool operator==(const Cut&) const = default;
};

Cut Scan(std::string_view text, size_t step) {
  Cut cut;
  ListScanner list([&cut](std::string_view item) { cut.items.emplace_back(item); });
  LineScanner lines([&cut](std::string_view line) { cut.lines.emplace_back(line); });
  for (size_t at = 0; at < text.size(); at += step) {
    list.Feed(text.substr(at, step));
    lines.Feed(text.substr(at, step));
  }
  cut.envelope = list.envelope();
  return cut;
}

void Fuzz(std::string_view text) {
  const Cut whole = Scan(text, std::max<size_t>(text.size(), 1));
  CHECK(Scan(text, 1) == whole && Scan(text, 7) == whole);
  if (ParseJson(text).has_value()) {
    CHECK(ParseJson(whole.envelope).has_value());
    CHECK(std::ranges::all_of(whole.items,
                              [](const std::string& item) { return ParseJson(item).has_value(); }));
  }
}

}  // namespace
}  // namespace gantry::kube

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  gantry::kube::Fuzz({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
