// SPDX-License-Identifier: Apache-2.0
#include "kube/relist.h"

#include <gmock/gmock.h>

namespace gantry::kube {
namespace {

TEST(Known, AListTellsOnlyTheDifference) {
  Known known;
  known.BeginList();
  EXPECT_TRUE(known.Changed({"", "a"}, "1"));
  EXPECT_TRUE(known.Changed({"", "b"}, "2"));
  EXPECT_TRUE(known.Changed({"", "c"}, "3"));
  EXPECT_THAT(known.EndList(), testing::IsEmpty());

  known.BeginList();
  EXPECT_FALSE(known.Changed({"", "a"}, "1"));
  EXPECT_TRUE(known.Changed({"", "c"}, "5"));
  EXPECT_THAT(known.EndList(), testing::ElementsAre(Key{"", "b"}));
  EXPECT_EQ(known.size(), 2U);
}

TEST(Known, AListThatBrokeOffRemovesNothing) {
  Known known;
  known.BeginList();
  known.Changed({"", "a"}, "1");
  known.Changed({"", "b"}, "1");
  known.EndList();

  known.BeginList();  // breaks off here
  known.BeginList();
  known.Changed({"", "a"}, "1");
  known.Changed({"", "b"}, "1");
  EXPECT_THAT(known.EndList(), testing::IsEmpty());
}

TEST(Known, WhatEventsAddedAndRemovedCounts) {
  Known known;
  known.BeginList();
  known.EndList();
  EXPECT_TRUE(known.Changed({"", "a"}, "1"));
  EXPECT_TRUE(known.Gone({"", "a"}));
  EXPECT_FALSE(known.Gone({"", "a"}));
  known.Changed({"", "b"}, "2");
  known.BeginList();
  EXPECT_THAT(known.EndList(), testing::ElementsAre(Key{"", "b"}));
}

TEST(Known, AnObjectWithoutAVersionAlwaysCounts) {
  Known known;
  EXPECT_TRUE(known.Changed({"", "a"}, ""));
  EXPECT_TRUE(known.Changed({"", "a"}, ""));
}

}  // namespace
}  // namespace gantry::kube
