// SPDX-License-Identifier: Apache-2.0

// Into which DaemonSets is a ClusterPolicy's driver divided? An image is for one system, and
// perhaps for one kernel of it or one version of RHCOS, so the nodes are divided by these: a node's
// system decides about that node only. An existing DaemonSet keeps its name, whatever nodes join,
// because another name or system would delete its pods and unload the driver under the workloads.
// One of an earlier release, or of NVIDIA's operator, selects nodes of every system; it keeps that
// selector until a node joins that it must not select.

#include "operator/driver_division.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "operator/desired/context.h"
#include "operator/desired/driver_files.h"
#include "operator/desired/kernel_name.h"
#include "operator/desired/pod.h"
#include "policy/image.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

constexpr std::string_view kCrio = "-crio";

// Nodes that get the same image.
struct Group {
  std::string value;  // of names::kDriverSystem
  std::string kernel;
  std::string rhcos;
  std::string id;  // of the system
  std::vector<std::string> names;
  std::vector<std::string_view> labels;   // packed, of each
  const DriverSetThere* there = nullptr;  // its existing DaemonSet
  [[nodiscard]] std::string tag() const {
    return value.ends_with(kCrio) ? value.substr(0, value.size() - kCrio.size()) : value;
  }
};

bool IsDeployLabel(std::string_view key) { return key.starts_with(names::kDeployPrefix); }

bool IsDigest(const std::string& image) { return image.find("sha256:") != std::string::npos; }

// Whether the selector, without deploy labels, matches a node with these packed labels.
bool Takes(const Labels& selector, std::string_view labels) {
  return std::ranges::all_of(selector, [&](const auto& label) {
    return IsDeployLabel(label.first) ||
           (!label.second.empty() && ValueIn(labels, label.first) == label.second);
  });
}

// "ubuntu22.04" -> "ubuntu", for a node without its other labels.
std::string IdOf(std::string tag) {
  while (!tag.empty() &&
         (tag.back() == '.' || std::isdigit(static_cast<unsigned char>(tag.back())) != 0)) {
    tag.pop_back();
  }
  return tag;
}

class Divider {
 public:
  Divider(const DriverAsk& ask, const std::vector<DriverSetThere>& there)
      : ask_(ask), there_(there) {}

  DriverDivision Divide(const NamedNodes& nodes) {
    for (const DriverSetThere& set : there_) {
      if (const std::string system = SystemOfImage(set.image);
          set.system.empty() && !system.empty()) {
        OpenDriverSet& open = division_.open.emplace_back();
        open.system = system;
        std::ranges::copy_if(set.nodes, std::inserter(open.nodes, open.nodes.end()),
                             [](const auto& label) { return !IsDeployLabel(label.first); });
      }
    }
    for (const auto& [name, facts] : nodes) {
      Count(name, *facts);
    }
    std::vector<Group*> groups;
    groups.reserve(groups_.size());
    for (auto& [key, group] : groups_) {
      groups.push_back(&group);
    }
    std::ranges::sort(groups, {}, Order);
    for (const DriverSetThere& set : there_) {
      Assign(set, groups);
    }
    std::ranges::sort(groups, {}, Order);
    LeaveOut(groups);
    for (const Group* group : groups) {
      Make(*group);
    }
    if (!silent_.empty()) {
      std::vector<std::string> names;
      std::ranges::transform(silent_, std::back_inserter(names),
                             [](const auto& node) { return node.first; });
      division_.left_out.push_back(
          format("{} don't say which system they run: node feature discovery is to give them the "
                 "labels {}, {}{}{}",
                 Join(names, ", "), names::kSystemId, names::kSystemVersion,
                 ask_.precompiled ? ", " : "", ask_.precompiled ? names::kKernelVersion : ""));
    }
    division_.parts.whole = division_.left_out.empty();
    std::ranges::sort(division_.parts.sets, {}, &DriverPart::name);
    return std::move(division_);
  }

 private:
  // Groups with a DaemonSet first, since they have its name; then the largest.
  static std::tuple<bool, long, std::string, std::string, std::string> Order(const Group* group) {
    return {group->there == nullptr, -static_cast<long>(group->names.size()), group->value,
            group->kernel, group->rhcos};
  }

  void Count(const std::string& name, const NodeFacts& facts) {
    const std::string_view labels = facts.labels;
    const auto value = [&](std::string_view key) { return std::string(ValueIn(labels, key)); };
    if (value(names::kGpuPresent) != "true") {
      return;
    }
    const std::string prefix = names::kDeployPrefix;
    const std::string wanted = value(prefix + ask_.deploy);
    Group group;
    group.value = value(names::kDriverSystem);
    // Its deploy label waits until no DaemonSet of another system would select it.
    const bool waits =
        wanted.empty() && !group.value.empty() && !value(prefix + ask_.beside).empty();
    if (wanted == "false" || (wanted.empty() && !waits)) {
      return;
    }
    group.id = value(names::kSystemId);
    group.kernel = ask_.precompiled ? value(names::kKernelVersion) : "";
    group.rhcos = ask_.toolkit ? value(names::kRhcosVersion) : "";
    if (group.value.empty() || (ask_.precompiled && group.kernel.empty())) {
      silent_.emplace(name, labels);
      return;
    }
    const std::tuple key(group.value, group.kernel, group.rhcos);
    Group& known = groups_.try_emplace(key, std::move(group)).first->second;
    known.names.push_back(name);
    known.labels.push_back(labels);
  }

  // Assigns the DaemonSet the group whose driver it has.
  static void Assign(const DriverSetThere& set, const std::vector<Group*>& groups) {
    const auto serves = [&](const Group* group) {
      return group->there == nullptr &&
             ValueOf(set.nodes, names::kKernelVersion) == group->kernel &&
             ValueOf(set.nodes, names::kRhcosVersion) == group->rhcos &&
             (set.system.empty() ? IsDigest(set.image) || SystemOfImage(set.image) == group->tag()
                                 : set.system == group->value);
    };
    if (const auto found = std::ranges::find_if(groups, serves); found != groups.end()) {
      (*found)->there = &set;
    }
  }

  // An image for one system is not a driver for others.
  void LeaveOut(std::vector<Group*>& groups) {
    const std::string only = SystemOfImage(ask_.image);
    if ((!IsDigest(ask_.image) || ask_.precompiled) && only.empty()) {
      return;
    }
    const std::string first = groups.empty() ? "" : groups.front()->value;
    std::erase_if(groups, [&](const Group* group) {
      if (only.empty() ? group->value == first : group->tag() == only) {
        return false;
      }
      division_.left_out.push_back(
          only.empty()
              ? format("{} run {}, and {}.version is a digest, which is an image for one system: "
                       "name a tag, or give each system a NVIDIADriver "
                       "(driver.useNvidiaDriverCRD)",
                       Join(group->names, ", "), group->tag(), ask_.field)
              : format("{} run {}, and {}.version names an image for {}: leave -{} out of it",
                       Join(group->names, ", "), group->tag(), ask_.field, only, only));
      return true;
    });
  }

  void Make(const Group& group) {
    DriverPart part;
    part.system.id = group.id.empty() ? IdOf(group.tag()) : group.id;
    part.system.tag = group.tag();
    part.runtime = group.value.ends_with(kCrio) ? "crio" : "containerd";
    part.nodes[std::string(names::kDeployPrefix) + ask_.deploy] = "true";
    part.nodes[names::kDriverSystem] = group.value;
    if (!group.kernel.empty()) {
      part.system.kernels = {group.kernel};
      part.nodes[names::kKernelVersion] = group.kernel;
    }
    if (!group.rhcos.empty()) {
      part.system.rhcos = {group.rhcos};
      part.nodes[names::kRhcosVersion] = group.rhcos;
    }
    if (group.there != nullptr && group.there->system.empty() && MayStayOpen(group)) {
      part.nodes = {group.there->nodes.begin(), group.there->nodes.end()};
    }
    part.name = group.there != nullptr ? group.there->name : NewName(group);
    taken_.insert(part.name);
    division_.parts.sets.push_back(std::move(part));
  }

  // Whether its selector can stay unchanged: it matches all nodes of the group, and no others. A
  // node without system labels would lose its driver with another selector.
  bool MayStayOpen(const Group& group) {
    const Labels& selector = group.there->nodes;
    const auto takes = [&](std::string_view labels) { return Takes(selector, labels); };
    if (!std::ranges::all_of(group.labels, takes)) {
      return false;
    }
    std::vector<std::string> served;
    std::erase_if(silent_, [&](const auto& node) {
      const bool is_served = takes(node.second);
      if (is_served) {
        served.push_back(node.first);
      }
      return is_served;
    });
    std::vector<std::string> others;
    for (const auto& [key, other] : groups_) {
      if (&other != &group && std::ranges::any_of(other.labels, takes)) {
        others.insert(others.end(), other.names.begin(), other.names.end());
      }
    }
    if (others.empty() || served.empty()) {
      return others.empty();
    }
    division_.left_out.push_back(
        format("{} get none while DaemonSet {} takes nodes of every system, because {} don't say "
               "which system they run: node feature discovery is to give them the labels {} and {}",
               Join(others, ", "), group.there->name, Join(served, ", "), names::kSystemId,
               names::kSystemVersion));
    return true;
  }

  // NVIDIA's name if it is free, else a longer one.
  [[nodiscard]] std::string NewName(const Group& group) const {
    std::vector<std::string> choices;
    if (!group.kernel.empty()) {
      choices = {format("{}-{}-{}", ask_.set, ShortKernel(group.kernel), group.tag()),
                 format("{}-{}-{}", ask_.set, DottedKernel(group.kernel), group.value)};
    } else if (!group.rhcos.empty()) {
      choices = {format("{}-{}", ask_.set, group.rhcos),
                 format("{}-{}-{}", ask_.set, group.rhcos, group.value)};
    } else {
      choices = {ask_.set, format("{}-{}", ask_.set, group.value)};
    }
    // A label of the pods has the name of a DaemonSet for each version of RHCOS.
    const size_t longest = group.kernel.empty() ? 63 : 253;
    const std::string identity = format("{} {} {}", group.value, group.kernel, group.rhcos);
    for (const std::string& choice : choices) {
      std::string name = Lower(FitName(choice, "", longest, identity));
      if (!taken_.contains(name)) {
        return name;
      }
    }
    return Lower(FitName(choices.back(), "-" + ShortHash(identity), longest, identity));
  }

  const DriverAsk& ask_;
  const std::vector<DriverSetThere>& there_;
  std::map<std::tuple<std::string, std::string, std::string>, Group> groups_;
  std::map<std::string, std::string_view> silent_;  // nodes, with their packed labels
  std::set<std::string> taken_;
  DriverDivision division_;
};

}  // namespace

bool OpenDriverSet::WouldTake(const Labels& labels) const {
  const std::string of_node = ValueOf(labels, names::kDriverSystem);
  const bool same = of_node == system || of_node == system + std::string(kCrio);
  return !of_node.empty() && !same && Takes(nodes, PackLabels(labels));
}

std::string DriverSystemOf(const Labels& labels, std::string_view runtime) {
  const std::string id = ValueOf(labels, names::kSystemId);
  std::string system = SystemTag(id, ValueOf(labels, names::kSystemVersion));
  if (!system.empty() && id == "rhel" && runtime == "cri-o") {
    system += kCrio;
  }
  return system;
}

DriverSetThere DriverSetThereOf(const Json& daemon_set) {
  DriverSetThere set;
  set.name = TextAt(daemon_set, "metadata.name");
  if (const Json* nodes = At(daemon_set, "spec.template.spec.nodeSelector"); nodes != nullptr) {
    for (const auto& [key, value] : nodes->items()) {
      set.nodes.emplace(key, value.is_string() ? value.get<std::string>() : "");
    }
  }
  // Also set on the DaemonSet itself, so that an edited selector is restored.
  if (const Json* system = At(daemon_set, {"metadata", "labels", names::kDriverSystem})) {
    set.system = system->get<std::string>();
  }
  const Json& containers = ListAt(daemon_set, "spec.template.spec.containers");
  set.image = containers.empty() ? "" : TextAt(containers.front(), "image");
  return set;
}

DriverAsk DriverAskOf(const policy::ClusterPolicy& policy, bool toolkit) {
  const auto image = policy::ChooseImage(policy.driver.image, "", "driver");
  return {.operand = &policy::OperandOf(policy::OperandId::kDriver),
          .deploy = "driver",
          .beside = "device-plugin",
          .set = "nvidia-driver-daemonset",
          .field = "spec.driver",
          .image = image.has_value() ? image->image : "",
          .precompiled = policy.driver_options.precompiled,
          .toolkit = toolkit};
}

DriverAsk HostDriverAskOf(const policy::ClusterPolicy& policy) {
  const auto image = policy::ChooseImage(policy.vgpu_manager.image, "", "vgpuManager");
  return {.operand = &policy::OperandOf(policy::OperandId::kVgpuManager),
          .deploy = "vgpu-manager",
          .beside = "vgpu-device-manager",
          .set = "nvidia-vgpu-manager-daemonset",
          .field = "spec.vgpuManager",
          .image = image.has_value() ? image->image : ""};
}

DriverDivision DivideDrivers(const DriverAsk& ask, const NamedNodes& nodes,
                             const std::vector<DriverSetThere>& there) {
  return Divider(ask, there).Divide(nodes);
}

}  // namespace gantry::gpu_operator
