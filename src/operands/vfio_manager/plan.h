// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "host/pci.h"

// Which writes bind a node's GPUs to the drivers for virtual machines, or give them back? All of it
// pure. Functions of one IOMMU group are handed to a virtual machine together or not at all.
namespace gantry::vfio_manager {

// A PCI function, as sysfs and procfs show it.
struct Function {
  host::PciFunction pci;
  std::string override = {};        // driver_override; empty: none
  std::string module = "vfio_pci";  // of the driver for virtual machines that fits it
  int virtual_functions = 0;        // SR-IOV: how many are enabled
  std::string holders = {};         // of its group, for people; empty: nobody holds it
};

// A node's functions and the PCI drivers that are registered with its kernel.
struct Facts {
  std::vector<Function> functions;
  std::set<std::string> drivers;
  // IOMMU groups with a member that is not among the functions.
  std::set<int> incomplete_groups = {};
};

// What a function had before it was bound for virtual machines, by PCI address.
struct Before {
  std::string driver;    // empty: none
  std::string override;  // empty: none
  bool operator==(const Before&) const = default;
};
using Journal = std::map<std::string, Before>;

// Which devices a command is about.
struct Selection {
  std::string address = {};  // empty: all
  bool switches = false;     // also NVSwitches
};

enum class Action { kOverride, kUnbind, kBind };
// One write. `driver`: the override to set (empty: to clear), the driver to unbind from or bind to.
struct Step {
  Action action;
  std::string address;
  std::string driver;
  bool operator==(const Step&) const = default;
};

// Why a group is not bound, or not given back.
struct Refusal {
  std::string reason;    // one word: "DeviceHeld"
  std::string message;   // for people
  bool passing = false;  // it may end without an event of the kernel
};

// What to do about one IOMMU group, or about one device that is in none.
struct GroupPlan {
  std::string name;                  // for people: "GPU 0000:3b:00.0 (IOMMU group 57)"
  std::vector<std::string> gpus;     // addresses of those that are asked for
  std::vector<std::string> members;  // addresses of all functions of the group
  std::vector<std::string> changed;  // and of those that the steps change
  std::vector<Step> steps;           // in order; none: all is right, or it is refused
  std::optional<Refusal> refusal;
};

// The driver of a module, as the kernel has registered it; empty: it is not registered.
std::string DriverOf(std::string_view module, const std::set<std::string>& drivers);

// The modules whose drivers a bind would need and that are not registered.
std::set<std::string> MissingModules(const Facts& facts, const Selection& selection);

// Whether a function is one that virtual machines get: a GPU (VGA or 3D controller) that is no
// virtual function, or an NVSwitch if the selection has them.
bool IsSelected(const Function& function, const Selection& selection);

// A plan for each group with a selected device: every function of the group but bridges is bound to
// its driver for virtual machines. No step changes a group that is right, held, shared with a
// foreign device, without an IOMMU, or with enabled virtual functions. What an earlier run left
// between two drivers and can't be finished is given back, by the journal.
std::vector<GroupPlan> PlanBind(const Facts& facts, const Journal& journal,
                                const Selection& selection);

// A plan for each group with a function of the journal: each has what it had before. A driver that
// is not registered any more can't be bound; the function stays without one. One that another
// program has bound to a driver of the host stays with it.
std::vector<GroupPlan> PlanRestore(const Facts& facts, const Journal& journal);

// What the functions of the selected devices' groups had before: the journal's entries, and for one
// that a driver for virtual machines has without an entry that it had no driver.
Journal BeforeOf(const Facts& facts, const Journal& journal, const Selection& selection);

// Whether each function is bound as the steps say; the message of the error names the first that is
// not.
Status Verify(const Facts& facts, std::span<const Step> steps);

}  // namespace gantry::vfio_manager
