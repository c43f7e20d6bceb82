// SPDX-License-Identifier: Apache-2.0

#include "operator/driver_owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::gpu_operator {
namespace {

using testing::Key;
using testing::StartsWith;
using testing::UnorderedElementsAre;

DriverClaim Default(const std::string& name) { return {.name = name, .is_default = true}; }
DriverClaim Every(const std::string& name) { return {.name = name, .every_node = true}; }
DriverClaim Some(const std::string& name, const std::set<std::string>& nodes) {
  return {.name = name, .nodes = nodes};
}

TEST(DriverOwners, ANodeBelongsToTheOneThatSelectsItElseToTheDefault) {
  struct Case {
    std::vector<DriverClaim> claims;
    std::optional<std::string> owner;  // of node n
  };
  DriverClaim unknown = Some("u", {});
  unknown.known = false;
  const std::vector<Case> cases = {
      {{}, ""},
      {{Some("a", {"m"})}, ""},
      {{Some("a", {"n"})}, "a"},
      {{Every("a")}, "a"},
      {{Default("d")}, "d"},
      {{Some("a", {"n"}), Default("d")}, "a"},
      {{Every("a"), Default("d")}, "a"},
      {{Some("a", {"m"}), Default("d")}, "d"},
      {{Some("a", {"n"}), Some("b", {"m"})}, "a"},
      {{Some("a", {"n"}), Some("b", {"n"})}, std::nullopt},
      {{Every("a"), Some("b", {"n"}), Default("d")}, std::nullopt},
      {{Default("c"), Default("d")}, std::nullopt},
      {{Some("a", {"n"}), Default("c"), Default("d")}, "a"},
      // What is not known yet might select it.
      {{Default("d"), unknown}, std::nullopt},
      {{Some("a", {"n"}), unknown}, std::nullopt},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(DriverOwners{cases[i].claims}.OwnerOf("n"), cases[i].owner) << "case " << i;
  }
}

TEST(DriverOwners, UnknownOnesMoveNothing) {
  EXPECT_EQ(UnknownOwners().OwnerOf("n"), std::nullopt);
}

TEST(DriverOwners, ConflictsAreToldToThoseWhoHaveThem) {
  const DriverOwners owners{{Some("a", {"n1", "n2"}), Some("b", {"n2", "n3"}), Some("c", {"n4"}),
                             Default("d"), Some("e", {"cpu"}), Some("f", {"cpu"})}};
  const auto conflicts = FindConflicts(owners, {"n1", "n2", "n3", "n4"});
  // Of a node without GPUs nobody makes anything.
  ASSERT_THAT(conflicts, UnorderedElementsAre(Key("a"), Key("b")));
  EXPECT_EQ(conflicts.at("a").reason, "ConflictingNodeSelector");
  EXPECT_THAT(conflicts.at("b").message,
              StartsWith("multiple NVIDIADrivers match the same node n2: [a b]"));
}

TEST(DriverOwners, TwoDefaultsAreAConflictOfTheirOwn) {
  const DriverOwners owners{{Some("a", {"n"}), Default("c"), Default("d")}};
  const auto conflicts = FindConflicts(owners, {"n", "o"});
  ASSERT_THAT(conflicts, UnorderedElementsAre(Key("c"), Key("d")));
  EXPECT_EQ(conflicts.at("c").reason, "ReconcileFailed");
  EXPECT_THAT(conflicts.at("d").message, StartsWith("multiple default NVIDIADrivers found: [c d]"));
  EXPECT_TRUE(FindConflicts({{Some("a", {"n"}), Default("d")}}, {"n"}).empty());
}

}  // namespace
}  // namespace gantry::gpu_operator
