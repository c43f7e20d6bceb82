// SPDX-License-Identifier: Apache-2.0
// Preferred sets against an exhaustive search, and shares by both policies.
#include "operands/device_plugin/preferred.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <map>
#include <random>

#include "base/text.h"
#include "gpu/scores.h"
#include "operands/device_plugin/testing/settings.h"

namespace gantry::device_plugin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Resource MakeResource(size_t count, int replicas = 1) {
  const auto settings = replicas == 1 ? Settings() : Shared(replicas);
  return OfferedResources(SetOf(Gpus(static_cast<unsigned>(count))), settings, {}).resources.at(0);
}

std::vector<std::string> Preferred(const Resource& resource, const gpu::PairScores& scores,
                                   SharedPolicy policy, const kubelet::PreferredRequest& request) {
  const auto got = Prefer(resource, scores, policy, request);
  EXPECT_TRUE(got) << (got ? "" : got.error().message);
  return got.value_or(std::vector<std::string>());
}

std::vector<std::string> DeviceIds(const Resource& resource) {
  std::vector<std::string> ids;
  for (const auto& device : resource.devices) {
    ids.push_back(device.id);
  }
  return ids;
}

// Pairs (0,1), (2,3), ... are joined by NVLinks, halves of the machine by a PCIe host bridge.
gpu::PairScores PairedBoard(size_t count) {
  gpu::PairScores scores(count, std::vector<int>(count, 0));
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = 0; b < count; ++b) {
      if (a != b) {
        scores[a][b] = a / 2 == b / 2 ? 450 : (a * 2 / count == b * 2 / count ? 30 : 10);
      }
    }
  }
  return scores;
}

std::vector<size_t> Positions(const std::vector<std::string>& ids) {
  std::vector<size_t> positions;
  for (const auto& id : ids) {
    positions.push_back(std::stoul(id.substr(4)));
  }
  return positions;
}

int BestScore(const gpu::PairScores& scores, unsigned available, unsigned required, int size) {
  int best = -1;
  for (unsigned set = 0; set < (1U << scores.size()); ++set) {
    if (std::popcount(set) != size || (set & ~available) != 0 || (required & ~set) != 0) {
      continue;
    }
    std::vector<size_t> members;
    for (size_t i = 0; i < scores.size(); ++i) {
      if ((set >> i & 1U) != 0) {
        members.push_back(i);
      }
    }
    best = std::max(best, SetScore(scores, members));
  }
  return best;
}

TEST(PreferExclusive, NeverWorseThanEverySetOfEightGpus) {
  const auto resource = MakeResource(8);
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    gpu::PairScores scores(8, std::vector<int>(8, 0));
    for (size_t a = 0; a < 8; ++a) {
      for (size_t b = a + 1; b < 8; ++b) {
        scores[a][b] = scores[b][a] =
            static_cast<int>(random() % 6) * 10 + static_cast<int>(random() % 3) * 100;
      }
    }
    const unsigned available = static_cast<unsigned>(random() % 256) | 1U;
    const int size =
        static_cast<int>(random() % static_cast<unsigned>(std::popcount(available))) + 1;
    const unsigned required = random() % 2 == 0 ? 0U : 1U;
    kubelet::PreferredRequest request{.available = {}, .required = {}, .size = size};
    for (unsigned i = 0; i < 8; ++i) {
      if ((available >> i & 1U) != 0) {
        request.available.push_back(format("GPU-{}", i));
      }
    }
    if (required != 0) {
      request.required = {"GPU-0"};
    }
    const auto got = Preferred(resource, scores, SharedPolicy::kDistributed, request);
    ASSERT_EQ(got.size(), static_cast<size_t>(size));
    EXPECT_EQ(SetScore(scores, Positions(got)), BestScore(scores, available, required, size));
    EXPECT_TRUE(required == 0 || std::ranges::find(got, "GPU-0") != got.end());
  }
}

TEST(PreferExclusive, KeepsPairsTogetherAndWhole) {
  const auto resource = MakeResource(8);
  const auto scores = PairedBoard(8);
  const auto prefer = [&](std::vector<std::string> available, int size) {
    return Preferred(resource, scores, SharedPolicy::kDistributed,
                     {std::move(available), {}, size});
  };
  EXPECT_THAT(prefer({"GPU-1", "GPU-2", "GPU-3", "GPU-6"}, 2), ElementsAre("GPU-2", "GPU-3"));
  EXPECT_THAT(prefer({"GPU-0", "GPU-1", "GPU-5"}, 1), ElementsAre("GPU-5"))
      << "one GPU is taken where no pair breaks";
  EXPECT_THAT(prefer(DeviceIds(resource), 4), ElementsAre("GPU-0", "GPU-1", "GPU-2", "GPU-3"));
}

TEST(PreferExclusive, WhatCantBeMetIsLeftToTheKubelet) {
  const auto resource = MakeResource(4);
  const auto scores = PairedBoard(4);
  const auto prefer = [&](const kubelet::PreferredRequest& request) {
    return Preferred(resource, scores, SharedPolicy::kDistributed, request);
  };
  EXPECT_THAT(prefer({{"GPU-0"}, {}, 2}), IsEmpty());
  EXPECT_THAT(prefer({{"GPU-0"}, {}, 0}), IsEmpty());
  EXPECT_THAT(prefer({{"GPU-0", "GPU-1"}, {"GPU-2"}, 2}), IsEmpty());
  EXPECT_THAT(prefer({{"GPU-0", "GPU-1"}, {"GPU-0", "GPU-1"}, 1}), IsEmpty());
  EXPECT_THAT(prefer({{"GPU-0", "GPU-1"}, {"GPU-1"}, 1}), ElementsAre("GPU-1"));
}

TEST(PreferExclusive, AnUnknownDeviceIsRefusedByName) {
  const auto resource = MakeResource(4);
  for (const auto& request : {kubelet::PreferredRequest{{"GPU-0", "GPU-1"}, {"GPU-x"}, 1},
                              kubelet::PreferredRequest{{"GPU-0", "GPU-x"}, {}, 1}}) {
    const auto got = Prefer(resource, PairedBoard(4), SharedPolicy::kDistributed, request);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(got.error().message, HasSubstr("'nvidia.com/gpu': unknown device: GPU-x"));
  }
}

TEST(PreferExclusive, ManyGpusAreAnsweredInTime) {
  for (const size_t count : {size_t{16}, size_t{64}}) {
    const auto resource = MakeResource(count);
    const auto scores = PairedBoard(count);
    const auto start = std::chrono::steady_clock::now();
    const auto got = Preferred(resource, scores, SharedPolicy::kDistributed,
                               {DeviceIds(resource), {"GPU-5"}, 8});
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
    ASSERT_EQ(got.size(), 8U);
    std::map<size_t, int> pairs;
    for (const size_t at : Positions(got)) {
      pairs[at / 2]++;
    }
    EXPECT_EQ(pairs.size(), 4U) << "four whole pairs of " << count;
    EXPECT_EQ(pairs[2], 2);
  }
}

TEST(PreferShares, DistributedTakesTheLeastUsed) {
  const auto resource = MakeResource(3, 4);
  kubelet::PreferredRequest request{.available = DeviceIds(resource), .required = {}, .size = 3};
  EXPECT_THAT(Preferred(resource, {}, SharedPolicy::kDistributed, request),
              ElementsAre("GPU-0::0", "GPU-1::0", "GPU-2::0"));
  // GPU-0 has two in use, GPU-1 one.
  request.available = {"GPU-0::2", "GPU-0::3", "GPU-1::1", "GPU-1::2", "GPU-1::3",
                       "GPU-2::0", "GPU-2::1", "GPU-2::2", "GPU-2::3"};
  EXPECT_THAT(Preferred(resource, {}, SharedPolicy::kDistributed, request),
              ElementsAre("GPU-2::0", "GPU-1::1", "GPU-2::1"));
}

TEST(PreferShares, PackedFillsTheMostUsed) {
  const auto resource = MakeResource(3, 4);
  const kubelet::PreferredRequest request{
      .available = {"GPU-0::0", "GPU-0::1", "GPU-0::2", "GPU-0::3", "GPU-1::2", "GPU-1::3",
                    "GPU-2::1", "GPU-2::2", "GPU-2::3"},
      .required = {"GPU-2::1"},
      .size = 4};
  EXPECT_THAT(Preferred(resource, {}, SharedPolicy::kPacked, request),
              ElementsAre("GPU-2::1", "GPU-1::2", "GPU-1::3", "GPU-2::2"));
}

TEST(PreferShares, TooFewAreRefused) {
  const auto got =
      Prefer(MakeResource(1, 2), {}, SharedPolicy::kPacked, {{"GPU-0::0", "GPU-x::1"}, {}, 2});
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, HasSubstr("2 devices are asked for, 1 are available"));
}

TEST(Scores, PcieAndNvlinks) {
  nvml::Topology topology;
  const auto pair = [](nvml::Ancestor ancestor, unsigned links, unsigned switch_links) {
    return nvml::Pair{.ancestor = ancestor, .nvlinks = links, .switch_links = switch_links};
  };
  using nvml::Ancestor;
  const std::vector<std::pair<nvml::Pair, int>> cases = {
      {pair(Ancestor::kSystem, 0, 0), 10},     {pair(Ancestor::kNode, 0, 0), 20},
      {pair(Ancestor::kHostBridge, 0, 0), 30}, {pair(Ancestor::kMultiple, 0, 0), 40},
      {pair(Ancestor::kSingle, 0, 0), 50},     {pair(Ancestor::kInternal, 0, 0), 60},
      {pair(Ancestor::kUnknown, 0, 0), 0},     {pair(Ancestor::kSystem, 2, 0), 210},
      {pair(Ancestor::kSystem, 0, 12), 1210},  {pair(Ancestor::kSystem, 30, 0), 1810}};
  for (const auto& [one, points] : cases) {
    topology.pairs = {{{}, one}, {one, {}}};
    EXPECT_EQ(gpu::ScoresOf(topology), (gpu::PairScores{{0, points}, {points, 0}}));
  }
}

// MIG devices: two GPUs of three, the first device of GPU-0 in use.
TEST(PreferShares, MigDevicesBySumOfTheirGpu) {
  auto gpus = Gpus(2);
  AddMig(gpus[0], {"1g.10gb", "1g.10gb", "1g.10gb"});
  AddMig(gpus[1], {"1g.10gb", "1g.10gb", "1g.10gb"});
  const auto resource =
      OfferedResources(SetOf(gpus), Mig(policy::MigStrategy::kSingle), {}).resources.at(0);
  const kubelet::PreferredRequest request{
      .available = {"MIG-0-1", "MIG-0-2", "MIG-1-0", "MIG-1-1", "MIG-1-2"},
      .required = {},
      .size = 2};
  EXPECT_THAT(Preferred(resource, {}, SharedPolicy::kDistributed, request),
              ElementsAre("MIG-1-0", "MIG-0-1"));
  EXPECT_THAT(Preferred(resource, {}, SharedPolicy::kPacked, request),
              ElementsAre("MIG-0-1", "MIG-0-2"));
}

TEST(PreferShares, WholeGpusBesideSharesOfOthers) {
  auto settings = Shared(2);
  settings.sharing.resources[0].devices.list = {"0"};
  const auto resource = OfferedResources(SetOf(Gpus(2)), settings, {}).resources.at(0);
  EXPECT_THAT(Preferred(resource, {}, SharedPolicy::kDistributed,
                        {{"GPU-0::0", "GPU-0::1", "GPU-1"}, {}, 2}),
              testing::UnorderedElementsAre("GPU-0::0", "GPU-1"));
}

TEST(Scores, OfTheGpusOfUnits) {
  auto all = SetOf(Gpus(3));
  all.scores = {{0, 1, 2}, {1, 0, 3}, {2, 3, 0}};
  const auto resource = OfferedResources(all, {}, {}).resources.at(0);
  EXPECT_EQ(gpu::ScoresFor({resource.units[0], resource.units[2]}, all),
            (gpu::PairScores{{0, 2}, {2, 0}}));
}

}  // namespace
}  // namespace gantry::device_plugin
