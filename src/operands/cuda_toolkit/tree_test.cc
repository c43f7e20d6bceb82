// SPDX-License-Identifier: Apache-2.0
#include "operands/cuda_toolkit/tree.h"

#include <gtest/gtest.h>

#include <set>

namespace gantry::cuda_toolkit {
namespace {

using Kind = TreeEntry::Kind;

TEST(TargetInCopy, LinksIntoTheFolderBecomeRelative) {
  const std::vector<std::string> own = {"/usr/local/cuda-12.4", "/usr/local/cuda"};
  EXPECT_EQ(TargetInCopy("lib64", "/usr/local/cuda-12.4/targets/x/lib", own), "targets/x/lib");
  EXPECT_EQ(TargetInCopy("a/b/nvcc", "/usr/local/cuda/bin/nvcc", own), "../../bin/nvcc");
  EXPECT_EQ(TargetInCopy("lib64", "targets/x/lib", own), "targets/x/lib");
  EXPECT_EQ(TargetInCopy("x", "/usr/local/cuda-12.4.old/x", own), "/usr/local/cuda-12.4.old/x");
  EXPECT_EQ(TargetInCopy("x", "/usr/bin/gcc", own), "/usr/bin/gcc");
}

TEST(FingerprintOf, EveryDifferenceCounts) {
  const Tree tree = {{Kind::kFolder, "bin"},
                     {Kind::kFile, "bin/nvcc", 10, 100, true},
                     {Kind::kLink, "lib64", 0, 0, false, "lib"}};
  std::set<std::string> prints = {FingerprintOf(tree)};
  EXPECT_EQ(prints, std::set<std::string>{FingerprintOf(Tree(tree))});
  const auto change = [&](auto what) {
    Tree other = tree;
    what(other);
    prints.insert(FingerprintOf(other));
  };
  change([](Tree& other) { other.pop_back(); });
  change([](Tree& other) { other[0].path = "bim"; });
  change([](Tree& other) { other[1].size = 11; });
  change([](Tree& other) { other[1].modified = 101; });
  change([](Tree& other) { other[1].executable = false; });
  change([](Tree& other) { other[2].target = "lib32"; });
  EXPECT_EQ(prints.size(), 7U);
  EXPECT_EQ(prints.begin()->size(), 16U);
  EXPECT_EQ(SizeOf(tree), 10);
}

}  // namespace
}  // namespace gantry::cuda_toolkit
