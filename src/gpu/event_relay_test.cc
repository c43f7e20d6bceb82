// SPDX-License-Identifier: Apache-2.0
#include "gpu/event_relay.h"

#include <gtest/gtest.h>

namespace gantry::gpu {
namespace {

using std::chrono::milliseconds;

class Relay : public testing::Test {
 protected:
  bool Tells(int listener, uint64_t xid, int millisecond = 0, const char* uuid = "GPU-0") {
    nvml::EventSet::Event event;
    event.uuid = uuid;
    event.xid = xid;
    return relay_.IsNew(listener, event, SteadyTime() + milliseconds(millisecond));
  }
  EventRelay relay_;
};

TEST_F(Relay, OneListenerTellsAll) {
  relay_.Listen(1);
  EXPECT_TRUE(Tells(1, 43));
  EXPECT_TRUE(Tells(1, 43));
}

TEST_F(Relay, OfTwoTheFirstTells) {
  relay_.Listen(1);
  relay_.Listen(2);
  EXPECT_TRUE(Tells(1, 43));
  EXPECT_FALSE(Tells(2, 43));
  EXPECT_TRUE(Tells(2, 31));
  EXPECT_FALSE(Tells(1, 31));
}

TEST_F(Relay, EachOfSeveralEqualEventsIsToldOnce) {
  relay_.Listen(1);
  relay_.Listen(2);
  EXPECT_TRUE(Tells(1, 43));
  EXPECT_TRUE(Tells(1, 43));
  EXPECT_FALSE(Tells(2, 43));
  EXPECT_FALSE(Tells(2, 43));
  EXPECT_TRUE(Tells(2, 43)) << "a third one, which the first listener has yet to get";
  EXPECT_FALSE(Tells(1, 43));
}

TEST_F(Relay, OtherEventsAreOthers) {
  relay_.Listen(1);
  relay_.Listen(2);
  EXPECT_TRUE(Tells(1, 43));
  EXPECT_TRUE(Tells(2, 43, 0, "GPU-1"));
  EXPECT_TRUE(Tells(2, 44));
}

TEST_F(Relay, WhatOneListenerGotBeforeTheOtherListenedHidesNothingForLong) {
  relay_.Listen(1);
  EXPECT_TRUE(Tells(1, 43));
  relay_.Listen(2);
  EXPECT_TRUE(Tells(2, 43)) << "another one";
  relay_.End(1);
  EXPECT_TRUE(Tells(2, 43, 10));
  relay_.Listen(3);
  EXPECT_TRUE(Tells(2, 43, 20));
  EXPECT_TRUE(Tells(3, 43, 2021)) << "too late to be the same";
}

}  // namespace
}  // namespace gantry::gpu
