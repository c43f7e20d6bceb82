// SPDX-License-Identifier: Apache-2.0
#include "operands/cuda_toolkit/removal.h"

#include <gmock/gmock.h>

namespace gantry::cuda_toolkit {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(MountedCopies, OfAMountList) {
  constexpr char kMounts[] =
      "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
      "40 22 8:1 /var/lib/nvidia/cuda/versions/12.4.1-aa /opt/nvidia/cuda-12.4 ro - ext4 /dev/sda1 "
      "rw\n"
      "41 22 8:2 /lib/nvidia/cuda/versions/12.2-bb/lib64 /x ro - ext4 /dev/sdb1 rw\n"
      "42 22 8:1 /var/lib/nvidia/cuda /var/lib/nvidia/cuda rw - ext4 /dev/sda1 rw\n"
      "short line\n";
  EXPECT_THAT(MountedCopies(kMounts, {"12.4.1-aa", "12.2-bb", "12.4.1-a", "11.4-cc"}),
              ElementsAre("12.2-bb", "12.4.1-aa"));
  EXPECT_THAT(MountedCopies("", {"12.4.1-aa"}), IsEmpty());
}

TEST(NamedCopies, OfADocument) {
  EXPECT_THAT(NamedCopies(R"({"hostPath": "/var/lib/nvidia/cuda/versions/12.2-bb"})",
                          {"12.2-b", "12.2-bb", "12.2-bb.damaged-1"}),
              ElementsAre("12.2-bb"));
}

TEST(WhatToRemove, Table) {
  const CudaRoot root = {{{"12.2", "12.2-b"}, {"12.4", "12.4.1-new"}},
                         {"12.2-b", "12.4.0-old", "12.4.1-new"}};
  struct Case {
    std::set<std::string> used;
    std::string release;
    std::vector<std::string> releases;
    std::vector<std::string> copies;
    bool waits;
  };
  const std::vector<Case> cases = {
      {{}, "12.4", {"12.2"}, {"12.2-b", "12.4.0-old"}, false},
      {{"12.4.1-new"}, "12.4", {"12.2"}, {"12.2-b", "12.4.0-old"}, false},
      {{"12.2-b"}, "12.4", {}, {"12.4.0-old"}, true},
      {{"12.4.0-old"}, "12.4", {"12.2"}, {"12.2-b"}, true},
      {{"12.2-b", "12.4.0-old"}, "12.4", {}, {}, true},
      {{}, "12.2", {"12.4"}, {"12.4.0-old", "12.4.1-new"}, false},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.release + testing::PrintToString(one.used));
    const Removal removal = WhatToRemove(root, one.used, one.release);
    EXPECT_EQ(removal.releases, one.releases);
    EXPECT_EQ(removal.copies, one.copies);
    EXPECT_EQ(removal.waits, one.waits);
  }
}

}  // namespace
}  // namespace gantry::cuda_toolkit
