// SPDX-License-Identifier: Apache-2.0
// Which writes bind GPUs for virtual machines, in which order, and what is in the way? By IOMMU
// group, because the kernel lets a virtual machine have a group only if no driver of the host has a
// member of it (Linux, Documentation/driver-api/vfio.rst).
#include "operands/vfio_manager/plan.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "gpu/vfio.h"

namespace gantry::vfio_manager {
namespace {

constexpr int kVga = 0x030000;
constexpr int k3d = 0x030200;
constexpr int kNvSwitch = 0x068000;
constexpr int kHostBridge = 0x0600;  // base class and sub-class
constexpr int kPciBridge = 0x0604;

using Members = std::vector<const Function*>;

bool IsBridge(const Function& function) {
  const int kind = function.pci.class_code >> 8;
  return kind == kHostBridge || kind == kPciBridge;
}

// A module and its driver are one, whatever the hyphens: vfio_pci, vfio-pci.
std::string WithUnderscores(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '-', '_');
  return text;
}

bool IsOf(std::string_view driver, std::string_view module) {
  return !driver.empty() && WithUnderscores(driver) == WithUnderscores(module);
}

bool IsNvidias(const Function& function) { return function.pci.vendor == host::kNvidiaVendor; }

std::string KindOf(const Function& function) {
  return function.pci.class_code == kNvSwitch ? "NVSwitch" : "GPU";
}

bool IsRight(const Function& function, const Selection& selection) {
  // A companion needs no driver of its own kind.
  return IsSelected(function, selection) ? IsOf(function.pci.driver, function.module)
                                         : gpu::IsVfioDriver(function.pci.driver);
}

// The selected devices' groups, in the order of their first functions; a device without a group is
// by itself.
std::vector<Members> GroupsOf(const Facts& facts, const Selection& selection) {
  std::vector<Members> groups;
  std::set<int> seen;
  for (const Function& function : facts.functions) {
    if (!IsSelected(function, selection)) {
      continue;
    }
    const int group = function.pci.iommu_group;
    if (group < 0) {
      groups.push_back({&function});
    } else if (seen.insert(group).second) {
      Members& members = groups.emplace_back();
      for (const Function& other : facts.functions) {
        if (other.pci.iommu_group == group) {
          members.push_back(&other);
        }
      }
    }
  }
  return groups;
}

// Those that are to change their driver.
Members Wrong(const Members& group, const Selection& selection) {
  Members wrong;
  std::ranges::copy_if(group, std::back_inserter(wrong), [&](const Function* member) {
    return !IsBridge(*member) && IsNvidias(*member) && !IsRight(*member, selection);
  });
  return wrong;
}

std::string NameOf(const Members& group, const Selection& selection) {
  std::vector<std::string> selected;
  for (const Function* member : group) {
    if (IsSelected(*member, selection)) {
      selected.push_back(format("{} {}", KindOf(*member), member->pci.address));
    }
  }
  const int number = group.front()->pci.iommu_group;
  return number < 0 ? Join(selected, ", ")
                    : format("{} (IOMMU group {})", Join(selected, ", "), number);
}

std::optional<Refusal> Refused(const Facts& facts, const Members& group, const Members& wrong) {
  const int number = group.front()->pci.iommu_group;
  if (number < 0) {
    return Refusal{"IommuMissing",
                   "it is in no IOMMU group: enable the IOMMU in the firmware (VT-d, AMD-Vi) and "
                   "with the kernel's parameter intel_iommu=on or amd_iommu=on"};
  }
  if (facts.incomplete_groups.contains(number)) {
    return Refusal{"IommuGroupShared", "its IOMMU group has a device that is no PCI function"};
  }
  for (const Function* member : group) {
    if (!IsNvidias(*member) && !IsBridge(*member) && gpu::KeepsItsGroup(member->pci.driver)) {
      return Refusal{"IommuGroupShared",
                     format("its IOMMU group has {} too, which the host uses (driver {}): put the "
                            "card into another slot, or unbind that device",
                            member->pci.address, member->pci.driver)};
    }
  }
  for (const Function* member : wrong) {
    if (member->virtual_functions > 0) {
      return Refusal{"VirtualFunctionsEnabled",
                     format("{} has {} virtual functions: write 0 to its sriov_numvfs",
                            member->pci.address, member->virtual_functions)};
    }
    if (DriverOf(member->module, facts.drivers).empty()) {
      return Refusal{"ModuleMissing", format("the kernel module {} is not loaded: run `modprobe "
                                             "{}` on the node",
                                             member->module, member->module)};
    }
  }
  for (const Function* member : wrong) {
    if (!member->holders.empty()) {
      return Refusal{.reason = "DeviceHeld",
                     .message = format("it is in use by {}", member->holders),
                     .passing = true};
    }
  }
  return std::nullopt;
}

// How a function gets what it had before.
std::vector<Step> StepsBack(const Function& function, const Before& before,
                            const std::set<std::string>& drivers) {
  const std::string& address = function.pci.address;
  const std::string& now = function.pci.driver;
  const bool ours = now.empty() || gpu::IsVfioDriver(now);
  std::vector<Step> steps;
  if (function.override != before.override &&
      (function.override.empty() || gpu::IsVfioDriver(function.override))) {
    steps.push_back({Action::kOverride, address, before.override});
  }
  if (!ours || now == before.driver) {
    return steps;
  }
  if (!now.empty()) {
    steps.push_back({Action::kUnbind, address, now});
  }
  if (drivers.contains(before.driver)) {
    steps.push_back({Action::kBind, address, before.driver});
  }
  return steps;
}

// In the order in which a group's steps are to be taken: no member is bound while another one is
// still with its earlier driver.
void Sort(std::vector<Step>& steps) {
  std::ranges::sort(steps, {},
                    [](const Step& step) { return std::tie(step.action, step.address); });
}

std::vector<std::string> AddressesOf(const std::vector<Step>& steps) {
  std::set<std::string> addresses;
  for (const Step& step : steps) {
    addresses.insert(step.address);
  }
  return {addresses.begin(), addresses.end()};
}

void PlanSteps(const Facts& facts, const Members& wrong, std::vector<Step>& steps) {
  for (const Function* member : wrong) {
    const std::string& address = member->pci.address;
    const std::string driver = DriverOf(member->module, facts.drivers);
    if (member->override != driver) {
      steps.push_back({Action::kOverride, address, driver});
    }
    if (!member->pci.driver.empty()) {
      steps.push_back({Action::kUnbind, address, member->pci.driver});
    }
    steps.push_back({Action::kBind, address, driver});
  }
  Sort(steps);
}

// What an earlier run left without a driver.
void PlanBack(const Facts& facts, const Members& wrong, const Journal& journal,
              std::vector<Step>& steps) {
  for (const Function* member : wrong) {
    const auto before = journal.find(member->pci.address);
    if (before != journal.end() && member->pci.driver.empty()) {
      const std::vector<Step> back = StepsBack(*member, before->second, facts.drivers);
      steps.insert(steps.end(), back.begin(), back.end());
    }
  }
  Sort(steps);
}

}  // namespace

std::string DriverOf(std::string_view module, const std::set<std::string>& drivers) {
  const auto found = std::ranges::find_if(
      drivers, [&](const std::string& driver) { return IsOf(driver, module); });
  return found == drivers.end() ? "" : *found;
}

bool IsSelected(const Function& function, const Selection& selection) {
  const int kind = function.pci.class_code;
  return IsNvidias(function) && !function.pci.virtual_function &&
         (kind == kVga || kind == k3d || (kind == kNvSwitch && selection.switches)) &&
         (selection.address.empty() || selection.address == function.pci.address);
}

std::set<std::string> MissingModules(const Facts& facts, const Selection& selection) {
  std::set<std::string> missing;
  for (const Members& group : GroupsOf(facts, selection)) {
    if (group.front()->pci.iommu_group < 0) {
      continue;
    }
    for (const Function* member : Wrong(group, selection)) {
      if (DriverOf(member->module, facts.drivers).empty()) {
        missing.insert(member->module);
      }
    }
  }
  return missing;
}

std::vector<GroupPlan> PlanBind(const Facts& facts, const Journal& journal,
                                const Selection& selection) {
  std::vector<GroupPlan> plans;
  for (const Members& group : GroupsOf(facts, selection)) {
    GroupPlan& plan = plans.emplace_back();
    plan.name = NameOf(group, selection);
    for (const Function* member : group) {
      plan.members.push_back(member->pci.address);
      if (IsSelected(*member, selection)) {
        plan.gpus.push_back(member->pci.address);
      }
    }
    const Members wrong = Wrong(group, selection);
    plan.refusal = Refused(facts, group, wrong);
    if (plan.refusal.has_value()) {
      PlanBack(facts, wrong, journal, plan.steps);
    } else {
      PlanSteps(facts, wrong, plan.steps);
    }
    plan.changed = AddressesOf(plan.steps);
  }
  return plans;
}

std::vector<GroupPlan> PlanRestore(const Facts& facts, const Journal& journal) {
  std::map<std::string, GroupPlan> plans;  // by name
  for (const Function& function : facts.functions) {
    const auto before = journal.find(function.pci.address);
    if (before == journal.end()) {
      continue;
    }
    const std::string name = function.pci.iommu_group < 0
                                 ? function.pci.address
                                 : format("IOMMU group {}", function.pci.iommu_group);
    GroupPlan& plan = plans[name];
    plan.name = name;
    plan.gpus.push_back(function.pci.address);
    const std::vector<Step> back = StepsBack(function, before->second, facts.drivers);
    plan.steps.insert(plan.steps.end(), back.begin(), back.end());
    if (!back.empty() && !function.holders.empty()) {
      plan.refusal = {.reason = "DeviceHeld",
                      .message = format("it is in use by {}", function.holders),
                      .passing = true};
    }
  }
  std::vector<GroupPlan> ordered;
  for (auto& [name, plan] : plans) {
    if (plan.refusal.has_value()) {
      plan.steps.clear();
    }
    Sort(plan.steps);
    plan.changed = AddressesOf(plan.steps);
    ordered.push_back(std::move(plan));
  }
  return ordered;
}

Journal BeforeOf(const Facts& facts, const Journal& journal, const Selection& selection) {
  Journal before;
  for (const Members& group : GroupsOf(facts, selection)) {
    for (const Function* member : group) {
      const std::string& address = member->pci.address;
      if (const auto noted = journal.find(address); noted != journal.end()) {
        before.insert(*noted);
      } else if (IsNvidias(*member) && gpu::IsVfioDriver(member->pci.driver)) {
        before[address] = {};
      }
    }
  }
  return before;
}

Status Verify(const Facts& facts, std::span<const Step> steps) {
  std::map<std::string, std::string> wanted;
  for (const Step& step : steps) {
    if (step.action != Action::kOverride) {
      wanted[step.address] = step.action == Action::kBind ? step.driver : "";
    }
  }
  for (const auto& [address, driver] : wanted) {
    const auto found = std::ranges::find(facts.functions, address,
                                         [](const Function& each) { return each.pci.address; });
    if (found == facts.functions.end()) {
      return Fail(ErrorKind::kNotFound, format("{} is gone", address));
    }
    const auto text = [](const std::string& name) { return name.empty() ? "no driver" : name; };
    if (found->pci.driver != driver) {
      return Fail(ErrorKind::kInternal,
                  format("{} has {} and not {}", address, text(found->pci.driver), text(driver)));
    }
  }
  return {};
}

}  // namespace gantry::vfio_manager
