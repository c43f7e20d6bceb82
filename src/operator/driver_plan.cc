// SPDX-License-Identifier: Apache-2.0

// Which objects do all NVIDIADrivers of a cluster need? Each is planned alone, so that a mistake in
// one does not affect the others; only the assignment of nodes is common. If one's objects can't be
// made, the existing ones are kept: workloads use their drivers.

#include "operator/driver_plan.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "kube/object.h"
#include "nfd/label_policy.h"
#include "operator/desired/nvidia_driver.h"
#include "operator/desired/operands.h"
#include "operator/driver_pools.h"
#include "policy/names.h"
#include "policy/reasons.h"

namespace gantry::gpu_operator {
namespace {

std::string SelectorText(const std::map<std::string, std::string>& nodes) {
  std::vector<std::string> parts;
  std::ranges::transform(nodes, std::back_inserter(parts), [](const auto& label) {
    return format("{}={}", label.first, label.second);
  });
  return Join(parts, ",");
}

// A label that no node can have; empty: none.
std::string ImpossibleLabel(const std::map<std::string, std::string>& nodes) {
  for (const auto& [key, value] : nodes) {
    const bool has_prefix = key.find('/') != std::string::npos;
    if (!nfd::IsLabelKey(has_prefix ? key : nfd::WithPrefix(key)) || !nfd::IsLabelValue(value)) {
      return format("{}={}", key, value);
    }
  }
  return "";
}

DriverClaim ClaimOf(const std::string& name, const Result<policy::DriverSelection>& selection,
                    const DriversAsked& asked) {
  DriverClaim claim{.name = name};
  claim.known = selection.has_value();
  if (!claim.known || !ImpossibleLabel(selection->nodes).empty()) {
    return claim;
  }
  claim.is_default = selection->is_default;
  claim.every_node = !claim.is_default && selection->nodes.empty();
  if (!selection->nodes.empty()) {
    const auto found = asked.selections.find(SelectorText(selection->nodes));
    claim.known = found != asked.selections.end();
    claim.nodes = claim.known ? found->second : std::set<std::string>();
  }
  return claim;
}

std::vector<std::string> GpuNodes(const NamedNodes& nodes) {
  std::vector<std::string> names;
  for (const auto& [name, facts] : nodes) {
    if (ValueIn(facts->labels, names::kGpuPresent) == "true") {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  return names;
}

void Stay(DriverOutcome& outcome, std::string_view reason, std::string message) {
  outcome.stays = true;
  outcome.state = "notReady";
  outcome.reason = reason;
  outcome.message = std::move(message);
}

class Planner {
 public:
  Planner(const DriversAsked& asked, const Context& context) : asked_(asked), context_(context) {}

  DriverPlan Run() {
    for (const Json& object : asked_.objects) {
      const std::string name = TextAt(object, "metadata.name");
      selections_.push_back(policy::ParseSelection(object));
      if (policy::CanOwnNodes(name)) {
        plan_.owners.claims.push_back(ClaimOf(name, selections_.back(), asked_));
      }
    }
    conflicts_ = FindConflicts(plan_.owners, GpuNodes(asked_.nodes));
    Json references = Json::array();
    bool any = false;
    for (size_t i = 0; i < asked_.objects.size(); ++i) {
      plan_.drivers.push_back(Follow(asked_.objects[i], selections_[i]));
      references.push_back(kube::OwnerReference(asked_.objects[i], false));
      any |= !plan_.drivers.back().objects.empty();
    }
    if (any) {
      plan_.shared = NvidiaDriversShare(context_, references);
    }
    return std::move(plan_);
  }

 private:
  DriverOutcome Follow(const Json& object, const Result<policy::DriverSelection>& selection) {
    DriverOutcome outcome;
    outcome.name = TextAt(object, "metadata.name");
    outcome.uid = kube::UidOf(object);
    outcome.partly = Join(policy::UnsupportedDriverFields(object), ", ");
    outcome.upgrade = policy::ParseDriverUpgrade(object);
    auto spec = policy::ParseNvidiaDriver(object);
    if (!selection.has_value()) {
      Stay(outcome, "ConflictingNodeSelector", selection.error().message);
    } else if (!spec.has_value()) {
      Stay(outcome, "ReconcileFailed", spec.error().message);
    } else if (const std::string label = ImpossibleLabel(selection->nodes); !label.empty()) {
      Stay(outcome, "ReconcileFailed",
           format("spec.nodeSelector: no node can have the label {}", label));
    } else if (const auto conflict = conflicts_.find(outcome.name); conflict != conflicts_.end()) {
      Stay(outcome, conflict->second.reason, conflict->second.message);
    } else if (!IsKnown(outcome.name)) {
      Stay(outcome, reasons::kDriverNotReady, "the nodes that it selects are being listed");
    } else {
      Make(object, *selection, *std::move(spec), outcome);
    }
    return outcome;
  }

  [[nodiscard]] bool IsKnown(const std::string& name) const {
    return std::ranges::any_of(plan_.owners.claims, [&](const DriverClaim& claim) {
      return claim.name == name && claim.known;
    });
  }

  void Make(const Json& object, const policy::DriverSelection& selection, policy::NvidiaDriver spec,
            DriverOutcome& outcome) {
    for (const Json& toleration : asked_.tolerations) {
      spec.tolerations.push_back(toleration);
    }
    const DriverPools split =
        SplitIntoPools(outcome.name, selection, spec, plan_.owners, asked_.nodes);
    outcome.silent = split.silent;
    outcome.unmarked = split.unmarked;
    outcome.untolerated = split.untolerated;
    Context context = context_;
    context.owners = Json::array({kube::OwnerReference(object, true)});
    const NamedDriver driver{outcome.name, outcome.uid, std::move(spec)};
    std::set<std::string> made;
    for (const DriverPool& pool : split.pools) {
      outcome.labelled += pool.labelled;
      outcome.expected += pool.expected;
      auto objects = NvidiaDriverObjects(context, driver, pool);
      if (!objects.has_value()) {
        outcome.objects.clear();
        Stay(outcome, "ReconcileFailed", objects.error().message);
        return;
      }
      // Pools of one system share their service account.
      for (Json& made_object : *objects) {
        const std::string key =
            TextAt(made_object, "kind") + "/" + TextAt(made_object, "metadata.name");
        if (made.insert(key).second) {
          outcome.objects.push_back(std::move(made_object));
        }
      }
    }
  }

  const DriversAsked& asked_;
  const Context& context_;
  std::vector<Result<policy::DriverSelection>> selections_;
  std::map<std::string, DriverConflict> conflicts_;
  DriverPlan plan_;
};

// The driver's objects among the ClusterPolicy's.
bool IsDrivers(const ObjectKey& key) {
  return key.name.starts_with("nvidia-driver") || key.name == names::kTrustedCa ||
         key.name == "nvidia-vgpu-manager" || key.name.starts_with("nvidia-vgpu-manager-daemonset");
}

}  // namespace

bool IsWhole(const DriverOutcome& driver) { return !driver.stays && driver.silent.empty(); }

DriverPlan PlanDrivers(const DriversAsked& asked, const Context& context) {
  if (asked.off.empty()) {
    return Planner(asked, context).Run();
  }
  DriverPlan plan;
  for (const Json& object : asked.objects) {
    DriverOutcome& outcome = plan.drivers.emplace_back();
    outcome.name = TextAt(object, "metadata.name");
    outcome.uid = kube::UidOf(object);
    outcome.state = "disabled";
    outcome.reason = "Reconciled";
    outcome.message = asked.off;
  }
  return plan;
}

upgrade::Policies UpgradesOf(const policy::ClusterPolicy& policy, const DriverPlan& drivers) {
  upgrade::Policies policies;
  if (upgrade::IsOn(policy)) {
    policies[""] = policy.driver_options.upgrade;
  }
  for (const DriverOutcome& driver : drivers.drivers) {
    if (!driver.upgrade.has_value()) {
      policies[driver.name] = std::nullopt;
    } else if (driver.upgrade->automatic) {
      policies[driver.name] = *driver.upgrade;
    }
  }
  return policies;
}

bool WaitsForLabels(const DriverOutcome& driver, const Plan& held) {
  const auto is_its_own = [&](const Json& written) {
    const ObjectKey key = KeyOfObject(written);
    return std::ranges::any_of(driver.objects,
                               [&](const Json& object) { return KeyOfObject(object) == key; });
  };
  return !held.empty() && (driver.objects.empty() || std::ranges::any_of(held.create, is_its_own) ||
                           std::ranges::any_of(held.replace, is_its_own));
}

std::set<std::string> SelectorsOf(const std::vector<Json>& drivers) {
  std::set<std::string> selectors;
  for (const Json& driver : drivers) {
    const auto selection = policy::ParseSelection(driver);
    if (selection.has_value() && !selection->nodes.empty() &&
        ImpossibleLabel(selection->nodes).empty()) {
      selectors.insert(SelectorText(selection->nodes));
    }
  }
  return selectors;
}

std::set<std::string> NamedConfigMaps(const std::vector<Json>& drivers) {
  std::set<std::string> all;
  for (const Json& driver : drivers) {
    if (const auto spec = policy::ParseNvidiaDriver(driver); spec.has_value()) {
      all.merge(NamedConfigMaps(*spec));
    }
  }
  return all;
}

void HandOver(bool on, const std::map<ObjectKey, Json>& observed, const std::set<std::string>& live,
              Plan& plan) {
  const auto is_handed_over = [&](const ObjectKey& key) {
    const auto object = observed.find(key);
    return object != observed.end() &&
           std::ranges::any_of(
               ListAt(object->second, "metadata.ownerReferences"), [&](const Json& owner) {
                 return on ? TextAt(owner, "kind").ends_with("ClusterPolicy") && IsDrivers(key)
                           : live.contains(TextAt(owner, "uid"));
               });
  };
  std::erase_if(plan.remove, [&](const ObjectKey& key) {
    if (!is_handed_over(key)) {
      return false;
    }
    if (key.kind == "DaemonSet") {
      plan.orphan.push_back(key);
    }
    return true;
  });
}

}  // namespace gantry::gpu_operator
