// SPDX-License-Identifier: Apache-2.0
// What `./do test` compiles first to say how fast the machine is. It needs the C++ library alone
// and must not change: figures of different days are compared by it.
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <ranges>
#include <regex>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

template <int N>
struct Level {
  std::map<std::string, std::vector<Level<N - 1>>> children;
  std::unordered_map<std::string, std::variant<int, double, std::string>> values;
  int Sum() const {
    int sum = static_cast<int>(values.size());
    for (const auto& [name, of_name] : children) {
      for (const auto& child : of_name) {
        sum += child.Sum();
      }
    }
    return sum;
  }
  void Sort() {
    for (auto& [name, of_name] : children) {
      std::ranges::sort(of_name, std::greater<>{}, [](const auto& child) { return child.Sum(); });
    }
  }
};
template <>
struct Level<0> {
  int Sum() const { return 1; }
  void Sort() {}
};

int Reference(Level<24>& level, const std::string& text) {
  level.Sort();
  const std::regex word("([a-z]+)=([0-9]+)");
  return std::regex_search(text, word) ? level.Sum() : 0;
}
