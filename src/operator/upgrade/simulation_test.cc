// SPDX-License-Identifier: Apache-2.0

// Whole upgrades of 50 nodes in a world that answers as a cluster does, with an operator that is
// killed before and after changes. Whatever happens: never over budget, every node ends, what fails
// says why, and no node stays cordoned that was not cordoned before or could not be upgraded.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "base/text.h"
#include "operator/upgrade/roll_out.h"
#include "policy/names.h"

namespace gantry::gpu_operator::upgrade {
namespace {

using std::chrono::seconds;

struct SimulatedPod {
  PodFacts facts;
  bool protected_by_budget = false;
  WallTime gone = WallTime::max();  // when it ends
};

struct SimulatedNode {
  NodeInput seen;  // label, annotations, cordon
  bool was_cordoned = false;
  bool bad_driver = false;
  bool bad_validator = false;
  bool new_driver = false;
  bool driver_there = true;
  WallTime driver_changes = WallTime::max();  // the pod ends, comes, or becomes ready
  bool driver_ready = true;
  WallTime driver_created{};
  bool driver_ending = false;
  WallTime validated{};
  std::map<std::string, SimulatedPod> pods;
};

class World {
 public:
  explicit World(unsigned seed) : random_(seed) {
    policy_.max_parallel = Chance(20) ? Any(1, 2) : Any(3, 16) % 16;
    policy_.max_unavailable = {Chance(20) ? Any(1, 4) : Any(5, 100), true};
    policy_.drain = Chance(50);
    policy_.pod_deletion.timeout = policy_.drain_spec.timeout = seconds(Any(10, 40));
    policy_.jobs_selector = Chance(50) ? "job" : "";
    policy_.jobs_timeout = seconds(Any(1, 100));
    for (int i = 0; i < 50; ++i) {
      Add(format("n{:02}", i));
    }
  }

  // Until nothing happens any more; false if that takes more looks.
  bool Run(unsigned looks = 20000) {
    for (unsigned look = 0; look < looks; ++look) {
      Happen();
      const std::vector<NodeInput> inputs = TakeSnapshot();
      const RollOutPlan plan = RollOut(inputs, policy_, now_);
      const bool killed = Apply(plan);
      if (killed) {
        evictions_.clear();
        progress_.clear();
      }
      if (!plan.changes.empty()) {
        now_ += seconds(Any(0, 2));
        continue;
      }
      const WallTime next = std::min(plan.requeue_at.value_or(WallTime::max()), NextEvent());
      if (next == WallTime::max()) {
        if (!HelpPending()) {
          return true;
        }
        continue;
      }
      now_ = std::max(now_ + seconds(1), next);
    }
    return false;
  }

  // Somebody puts right what made a node fail, and removes its label.
  void Help(SimulatedNode& node) {
    node.bad_driver = node.bad_validator = false;
    for (auto& [name, pod] : node.pods) {
      pod.protected_by_budget = false;
      pod.facts.managed = true;
      pod.facts.has_empty_dir = false;
    }
    if (node.new_driver) {
      node.driver_changes = now_ + seconds(1);
    }
    node.validated = now_ + seconds(3);
    node.seen.state = State::kUnknown;
  }

  void AbandonAll() {
    for (SimulatedNode& node : nodes_) {
      Patch(node, Abandon(node.seen));
    }
  }

  std::vector<SimulatedNode>& nodes() { return nodes_; }

 private:
  int Any(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
  bool Chance(int percent) { return Any(1, 100) <= percent; }
  // Whole minutes, so that much happens at once and there are few moments to look at.
  WallTime Later(int most) {
    return std::chrono::ceil<std::chrono::minutes>(now_ + seconds(Any(1, most)));
  }

  void Add(const std::string& name) {
    SimulatedNode node;
    node.seen.name = name;
    node.was_cordoned = Chance(6);
    node.seen.cordoned = node.was_cordoned;
    node.bad_driver = Chance(6);
    node.bad_validator = Chance(6);
    for (int i = Any(0, 4); i > 0; --i) {
      SimulatedPod pod;
      pod.facts.node = name;
      pod.facts.managed = !Chance(3);
      pod.facts.uses_gpus = Chance(70);
      pod.facts.has_empty_dir = Chance(3);
      pod.protected_by_budget = Chance(4);
      node.pods[format("p{}", i)] = pod;
    }
    nodes_.push_back(node);
  }

  // What the cluster does by itself until now.
  void Happen() {
    for (SimulatedNode& node : nodes_) {
      std::erase_if(node.pods, [&](const auto& pod) { return pod.second.gone <= now_; });
      if (node.driver_changes > now_) {
        continue;
      }
      node.driver_changes = WallTime::max();
      if (node.driver_ending) {
        node.driver_ending = false;
        node.driver_there = false;
        node.driver_changes = Later(5);
      } else if (!node.driver_there) {
        node.driver_there = true;
        node.new_driver = true;
        node.driver_created = now_;
        node.driver_ready = false;
        node.driver_changes = Later(300);
      } else if (!node.bad_driver) {
        node.driver_ready = true;
        node.validated = Later(100);
      }
    }
  }

  WallTime NextEvent() const {
    WallTime next = WallTime::max();
    for (const SimulatedNode& node : nodes_) {
      next = std::min(next, node.driver_changes);
      if (node.validated > now_ && !node.bad_validator) {
        next = std::min(next, node.validated);
      }
      for (const auto& [name, pod] : node.pods) {
        next = std::min(next, pod.gone);
      }
    }
    return next;
  }

  std::vector<NodeInput> TakeSnapshot() {
    std::vector<NodeInput> inputs;
    for (SimulatedNode& node : nodes_) {
      NodeInput input = node.seen;
      std::pair<State, WallTime>& progress = progress_[input.name];
      if (progress.first != input.state) {
        progress = {input.state, now_};
      }
      input.seen_since = progress.second;
      if (node.driver_there) {
        DriverPod driver;
        driver.judged = true;
        driver.outdated = !node.new_driver;
        driver.facts.deleting = node.driver_ending;
        driver.facts.ready = node.driver_ready;
        driver.facts.created = Rfc3339(node.driver_created);
        driver.facts.given_up =
            node.new_driver && node.bad_driver && node.driver_changes == WallTime::max();
        input.driver = driver;
      }
      if (InProgress(node.seen.state)) {
        input.pods.emplace();
      }
      if (node.seen.state == State::kValidation) {
        NamedPod validator{{"ns", "validator"}, {}};
        validator.facts.ready = node.driver_ready && !node.bad_validator && node.validated <= now_;
        input.pods->push_back(validator);
      } else if (input.pods.has_value()) {
        for (const auto& [name, pod] : node.pods) {
          input.pods->push_back({{"users", name}, pod.facts});
        }
      }
      if (const auto tried = evictions_.find(input.name); tried != evictions_.end()) {
        input.eviction = tried->second;
      }
      inputs.push_back(std::move(input));
    }
    return inputs;
  }

  SimulatedNode& Find(const std::string& name) {
    return *std::ranges::find(nodes_, name,
                              [](const SimulatedNode& node) { return node.seen.name; });
  }

  // Each change in any order, until a kill. Whether there was one.
  bool Apply(const RollOutPlan& plan) {
    std::vector<Change> changes = plan.changes;
    std::ranges::shuffle(changes, random_);
    for (const Change& change : changes) {
      if (Chance(3)) {
        return true;
      }
      SimulatedNode& node = Find(change.node);
      Patch(node, change);
      if (Chance(3)) {
        return true;
      }
      for (const PodRef& ref : change.evict) {
        SimulatedPod& pod = node.pods.at(ref.key.name);
        if (!pod.protected_by_budget) {
          pod.facts.deleting = true;
          pod.gone = now_ + seconds(Any(0, 5));
        }
        if (Chance(1)) {
          return true;
        }
      }
      if (!change.evict.empty()) {
        evictions_[change.node] = {now_, "a budget forbids it"};
      }
      if (change.restart.has_value()) {
        EXPECT_TRUE(node.seen.cordoned) << "nobody may come while the driver is exchanged";
        node.driver_ending = true;
        node.driver_ready = false;
        node.driver_changes = Later(30);
      }
    }
    return false;
  }

  void Patch(SimulatedNode& node, const Change& change) {
    const bool starts = change.from == State::kRequired && InProgress(change.to);
    if (starts && node.seen.cordoned) {
      free_.insert(change.node);
    }
    if (starts && !node.seen.cordoned) {
      free_.erase(change.node);
    }
    ASSERT_EQ(node.seen.state, change.from);
    node.seen.state = change.to;
    for (const auto& [key, value] : change.annotations) {
      if (value.has_value()) {
        node.seen.marks[key] = *value;
      } else {
        node.seen.marks.erase(key);
      }
    }
    if (change.cordon != Change::Cordon::kLeave) {
      node.seen.cordoned = change.cordon == Change::Cordon::kCordon;
    }
    ASSERT_TRUE(!node.was_cordoned || node.seen.cordoned) << change.node;
    if (starts) {
      CheckBudget(change.node);
    }
  }

  void CheckBudget(const std::string& started) {
    long long going = 0;
    long long unavailable = 0;
    for (const SimulatedNode& node : nodes_) {
      going += InProgress(node.seen.state) && !free_.contains(node.seen.name) ? 1 : 0;
      unavailable += node.seen.cordoned || InProgress(node.seen.state) ? 1 : 0;
    }
    if (policy_.max_parallel > 0) {
      ASSERT_LE(going, policy_.max_parallel) << started;
    }
    if (!free_.contains(started)) {
      ASSERT_LE(unavailable, policy_.max_unavailable.Of(50)) << started;
    }
  }

  // A failed node keeps its part of the budget; somebody has to look at it before the others go on.
  bool HelpPending() {
    const bool pending = std::ranges::any_of(
        nodes_, [](const SimulatedNode& node) { return node.seen.state == State::kRequired; });
    if (!pending) {
      return false;
    }
    const auto failed = std::ranges::find_if(
        nodes_, [](const SimulatedNode& node) { return node.seen.state == State::kFailed; });
    if (failed != nodes_.end()) {
      Help(*failed);
      return true;
    }
    // Nothing but nodes that were cordoned before takes the room: somebody needs them back.
    const auto idle = std::ranges::find_if(nodes_, [](const SimulatedNode& node) {
      return node.was_cordoned && node.seen.state == State::kDone;
    });
    if (idle == nodes_.end()) {
      return false;
    }
    idle->was_cordoned = idle->seen.cordoned = false;
    return true;
  }

  std::mt19937 random_;
  WallTime now_{seconds(1'700'000'000)};
  policy::UpgradePolicy policy_;
  std::vector<SimulatedNode> nodes_;
  std::map<std::string, Eviction> evictions_;
  std::map<std::string, std::pair<State, WallTime>> progress_;
  std::set<std::string> free_;  // were cordoned when they started: outside the budget
};

class Simulation : public testing::TestWithParam<unsigned> {};

TEST_P(Simulation, EndsWhateverHappens) {
  World world(GetParam());
  ASSERT_TRUE(world.Run()) << "it does not end";
  for (const SimulatedNode& node : world.nodes()) {
    const State state = node.seen.state;
    if (state == State::kFailed) {
      const auto record = ParseRecord(node.seen.marks.at(names::kUpgradeStep));
      ASSERT_TRUE(record.has_value());
      EXPECT_FALSE(record->reason.empty()) << node.seen.name;
    } else {
      EXPECT_EQ(state, State::kDone) << node.seen.name << " " << NameOf(state);
      EXPECT_TRUE(node.new_driver && node.driver_ready) << node.seen.name;
      EXPECT_EQ(node.seen.cordoned, node.was_cordoned) << node.seen.name;
      EXPECT_TRUE(node.seen.marks.empty()) << node.seen.name;
    }
  }
  for (SimulatedNode& node : world.nodes()) {
    if (node.seen.state == State::kFailed) {
      world.Help(node);
    }
  }
  ASSERT_TRUE(world.Run()) << "it does not end once it was helped";
  for (const SimulatedNode& node : world.nodes()) {
    EXPECT_EQ(node.seen.state, State::kDone) << node.seen.name;
    EXPECT_EQ(node.seen.cordoned, node.was_cordoned) << node.seen.name;
  }
}

TEST_P(Simulation, SwitchedOffInTheMiddleNothingIsLeft) {
  World world(GetParam());
  ASSERT_FALSE(world.Run(GetParam() * 3)) << "it is not the middle";
  world.AbandonAll();
  for (const SimulatedNode& node : world.nodes()) {
    EXPECT_EQ(node.seen.state, State::kUnknown);
    EXPECT_EQ(node.seen.cordoned, node.was_cordoned) << node.seen.name;
    EXPECT_TRUE(node.seen.marks.empty()) << node.seen.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Simulation, testing::Range(1U, 41U));

}  // namespace
}  // namespace gantry::gpu_operator::upgrade
