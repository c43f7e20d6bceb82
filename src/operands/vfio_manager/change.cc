// SPDX-License-Identifier: Apache-2.0
// How is a plan carried out? The journal is written first, then each step; what comes of it is read
// back. After a failed step every function of the group gets back what it had.
#include "operands/vfio_manager/change.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "operands/vfio_manager/gather.h"
#include "operands/vfio_manager/journal.h"

namespace gantry::vfio_manager {
namespace {

constexpr std::chrono::seconds kLockLimit(30);

std::string PathOf(const Places& places, const Step& step) {
  const std::string bus = JoinPath(places.sys, "bus/pci");
  switch (step.action) {
    case Action::kOverride:
      return format("{}/devices/{}/driver_override", bus, step.address);
    case Action::kUnbind:
      return format("{}/drivers/{}/unbind", bus, step.driver);
    case Action::kBind:
      break;
  }
  return format("{}/drivers/{}/bind", bus, step.driver);
}

std::string TextOf(const Step& step) {
  // An empty write clears nothing.
  return step.action == Action::kOverride ? step.driver + "\n" : step.address;
}

std::string Said(const Step& step) {
  switch (step.action) {
    case Action::kOverride:
      return step.driver.empty() ? format("{} is for any driver", step.address)
                                 : format("{} is for {} only", step.address, step.driver);
    case Action::kUnbind:
      return format("{} is taken from {}", step.address, step.driver);
    case Action::kBind:
      break;
  }
  return format("{} is bound to {}", step.address, step.driver);
}

class Change {
 public:
  Change(const Places& places, Kernel& kernel) : places_(places), kernel_(kernel) {}

  Status Take(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      log::Info("{}", Said(step));
      TRY(kernel_.Write(PathOf(places_, step), TextOf(step)));
    }
    TRY_ASSIGN(const Facts after, ReadFacts(places_));
    return Verify(after, steps);
  }

  // As far as possible; the error is the first one.
  Status TakeBack(const Journal& journal) {
    TRY_ASSIGN(const Facts now, ReadFacts(places_));
    Status all;
    for (const GroupPlan& plan : PlanRestore(now, journal)) {
      for (const Step& step : plan.steps) {
        const Status taken = kernel_.Write(PathOf(places_, step), TextOf(step));
        if (!taken.has_value() && all.has_value()) {
          all = taken;
        }
      }
    }
    TRY(all);
    TRY_ASSIGN(const Facts after, ReadFacts(places_));
    for (const GroupPlan& plan : PlanRestore(after, journal)) {
      TRY(Verify(after, plan.steps));
    }
    return {};
  }

 private:
  const Places& places_;
  Kernel& kernel_;
};

// The entries of a journal for these functions.
Journal Of(const Journal& journal, const std::vector<std::string>& addresses) {
  Journal some;
  for (const std::string& address : addresses) {
    if (const auto found = journal.find(address); found != journal.end()) {
      some.insert(*found);
    }
  }
  return some;
}

void Forget(Journal& journal, const std::vector<std::string>& addresses) {
  for (const std::string& address : addresses) {
    journal.erase(address);
  }
}

// Adds what the functions have now, unless an earlier run has noted it.
void Note(Journal& journal, const Facts& facts, const std::vector<std::string>& addresses) {
  for (const Function& function : facts.functions) {
    if (std::ranges::find(addresses, function.pci.address) != addresses.end()) {
      journal.try_emplace(function.pci.address,
                          Before{.driver = function.pci.driver, .override = function.override});
    }
  }
}

Status Bind(const Places& places, Kernel& kernel, const Facts& facts, const GroupPlan& plan,
            Journal& journal) {
  const JournalFile file(places.journal);
  Note(journal, facts, plan.changed);
  TRY(file.Write(journal));
  Change change(places, kernel);
  const Status bound = change.Take(plan.steps);
  if (bound.has_value()) {
    return {};
  }
  // A group of which a member is not bound is of no use, so all are given back.
  const Status back = change.TakeBack(Of(journal, plan.members));
  if (!back.has_value()) {
    return Fail(bound.error().kind, format("{}; and not given back either: {}",
                                           bound.error().message, back.error().message));
  }
  Forget(journal, plan.members);
  TRY(file.Write(journal));
  return Fail(bound.error().kind, format("{}; given back", bound.error().message));
}

Status Restore(const Places& places, Kernel& kernel, const GroupPlan& plan, Journal& journal) {
  TRY(Change(places, kernel).Take(plan.steps));
  Forget(journal, plan.changed);
  return JournalFile(places.journal).Write(journal);
}

using Act = std::function<Status(const GroupPlan& plan)>;

Pass Walk(const std::vector<GroupPlan>& plans, const Tried& tried, const Act& act) {
  Pass pass;
  for (const GroupPlan& plan : plans) {
    const bool waits = !plan.steps.empty();
    if (waits && pass.acted.empty() && !tried.contains(plan.name)) {
      pass.acted = plan.name;
      const Status done = act(plan);
      if (!done.has_value()) {
        pass.problems.push_back(
            {plan.name, {.reason = "ChangeFailed", .message = done.error().message}});
        continue;
      }
    } else if (waits && !plan.refusal.has_value()) {
      pass.others.push_back(plan.name);
      continue;
    }
    if (plan.refusal.has_value()) {
      pass.problems.push_back({plan.name, *plan.refusal});
    } else {
      pass.gpus.insert(pass.gpus.end(), plan.gpus.begin(), plan.gpus.end());
    }
  }
  return pass;
}

bool AnySteps(const std::vector<GroupPlan>& plans) {
  return std::ranges::any_of(plans, [](const GroupPlan& plan) { return !plan.steps.empty(); });
}

}  // namespace

std::string PassText(const Pass& pass) {
  Json problems = Json::array();
  for (const auto& [name, refusal] : pass.problems) {
    problems.push_back({{"name", name},
                        {"reason", refusal.reason},
                        {"message", refusal.message},
                        {"passing", refusal.passing}});
  }
  return Json({{"acted", pass.acted},
               {"gpus", pass.gpus},
               {"problems", std::move(problems)},
               {"others", pass.others}})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Pass> ParsePass(std::string_view text) {
  TRY_ASSIGN(const Json json, ParseJson(text));
  Pass pass{.acted = TextAt(json, "acted"),
            .gpus = TextsAt(json, "gpus"),
            .problems = {},
            .others = TextsAt(json, "others")};
  for (const Json& each : ListAt(json, "problems")) {
    pass.problems.push_back({TextAt(each, "name"),
                             {.reason = TextAt(each, "reason"),
                              .message = TextAt(each, "message"),
                              .passing = BoolAt(each, "passing", false)}});
  }
  return pass;
}

Result<Pass> BindOne(const Places& places, Kernel& kernel, const Selection& selection,
                     const Tried& tried) {
  const JournalFile file(places.journal);
  TRY_ASSIGN(const Fd locked, file.Lock(kLockLimit));
  TRY_ASSIGN(Journal journal, file.Read());
  TRY_ASSIGN(Facts facts, ReadFacts(places));
  for (const std::string& module : MissingModules(facts, selection)) {
    if (const Status loaded = kernel.Load(module); !loaded.has_value()) {
      log::Warning("{}", loaded.error().message);
    }
  }
  TRY_ASSIGN(facts, ReadFacts(places));
  std::vector<GroupPlan> plans = PlanBind(facts, journal, selection);
  if (AnySteps(plans)) {
    TRY(AddHolders(places, facts));
    plans = PlanBind(facts, journal, selection);
  }
  return Walk(plans, tried, [&](const GroupPlan& plan) {
    return plan.refusal.has_value() ? Restore(places, kernel, plan, journal)
                                    : Bind(places, kernel, facts, plan, journal);
  });
}

Result<Pass> RestoreOne(const Places& places, Kernel& kernel,
                        const std::optional<Selection>& selection, const Tried& tried) {
  const JournalFile file(places.journal);
  TRY_ASSIGN(const Fd locked, file.Lock(kLockLimit));
  TRY_ASSIGN(Journal journal, file.Read());
  TRY_ASSIGN(Facts facts, ReadFacts(places));
  const Journal before = selection.has_value() ? BeforeOf(facts, journal, *selection) : journal;
  // Also what the journal does not know is noted, so that a killed run is ended.
  journal.insert(before.begin(), before.end());
  std::vector<GroupPlan> plans = PlanRestore(facts, before);
  if (AnySteps(plans)) {
    TRY(file.Write(journal));
    TRY(AddHolders(places, facts));
    plans = PlanRestore(facts, before);
  }
  Pass pass = Walk(plans, tried,
                   [&](const GroupPlan& plan) { return Restore(places, kernel, plan, journal); });
  if (pass.acted.empty() && pass.problems.empty() && pass.others.empty()) {
    // What is left has no step: it is as it was, gone, or another program's.
    for (const auto& [address, had] : before) {
      journal.erase(address);
    }
    TRY(file.Write(journal));
  }
  return pass;
}

Result<Pass> AllPasses(const std::function<Result<Pass>(const Tried& tried)>& one) {
  Tried tried;
  std::map<std::string, Refusal> failed;
  while (true) {
    TRY_ASSIGN(Pass pass, one(tried));
    if (pass.acted.empty()) {
      for (const std::string& name : pass.others) {
        const auto why = failed.find(name);
        pass.problems.push_back(
            {name, why == failed.end()
                       ? Refusal{.reason = "ChangeFailed", .message = "it was changed meanwhile"}
                       : why->second});
      }
      pass.others.clear();
      return pass;
    }
    tried.insert(pass.acted);
    for (const auto& [name, refusal] : pass.problems) {
      if (name == pass.acted) {
        failed[name] = refusal;
      }
    }
  }
}

std::string ProblemsText(const Pass& pass) {
  std::vector<std::string> texts;
  std::ranges::transform(pass.problems, std::back_inserter(texts), [](const Problem& problem) {
    return format("{}: {}", problem.name, problem.refusal.message);
  });
  return Join(texts, "; ");
}

}  // namespace gantry::vfio_manager
