// SPDX-License-Identifier: Apache-2.0
// Would containerd's and CRI-O's library accept this CDI document? If only one reader accepted it,
// one name would have two sets of devices.
#include "container/cdi_rules.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/json.h"
#include "base/text.h"

namespace gantry::container {
namespace {

// In the order of their release.
constexpr std::array<std::string_view, 10> kVersions = {
    "0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0"};
enum Version : size_t { k03 = 2, k04, k05, k06, k07, k08, k10, k11 };

constexpr std::array<std::string_view, 6> kHookNames = {
    "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"};

bool IsAsciiDigit(char c) { return c >= '0' && c <= '9'; }

Version NeededBy(const CdiEdits& edits) {
  const Json rdt = edits.intel_rdt.empty() ? Json::object()
                                           : ParseJson(edits.intel_rdt).value_or(Json::object());
  const bool monitors = rdt.is_object() && rdt.contains("enableMonitoring") &&
                        rdt.at("enableMonitoring") == Json(true);
  if (!edits.net_devices.empty() || monitors || (rdt.is_object() && rdt.contains("schemata"))) {
    return k11;
  }
  if (!edits.additional_gids.empty() || !edits.intel_rdt.empty()) {
    return k07;
  }
  if (std::ranges::any_of(edits.device_nodes,
                          [](const CdiDeviceNode& node) { return !node.host_path.empty(); })) {
    return k05;
  }
  return std::ranges::any_of(edits.mounts,
                             [](const CdiMount& mount) { return !mount.type.empty(); })
             ? k04
             : k03;
}

Version Needed(const CdiSpec& spec) {
  Version needed = NeededBy(spec.edits);
  const bool dot = spec.kind.substr(spec.kind.find('/') + 1).find('.') != std::string::npos;
  if (!spec.annotations.empty() || dot) {
    needed = std::max(needed, k06);
  }
  for (const CdiDevice& device : spec.devices) {
    const bool digit = !device.name.empty() && IsAsciiDigit(device.name.front());
    needed = std::max({needed, NeededBy(device.edits), digit ? k05 : k03,
                       device.annotations.empty() ? k03 : k06});
  }
  return needed;
}

Status Broken(std::string_view what, std::string_view rule) {
  return Fail(ErrorKind::kInvalid, format("read cdi document: {} {}", what, rule));
}

Status CheckVersion(const CdiSpec& spec) {
  // "v0.5.0" is accepted too.
  const std::string_view written =
      std::string_view(spec.version).substr(spec.version.starts_with('v') ? 1 : 0);
  const auto found = std::ranges::find(kVersions, written);
  if (found == kVersions.end()) {
    return Broken("cdiVersion " + spec.version, "is no version up to 1.1.0");
  }
  if (found < kVersions.begin() + Needed(spec)) {
    return Broken("cdiVersion " + spec.version,
                  format("has not all that is in it: {} has", OldestCdiVersion(spec)));
  }
  return {};
}

Status CheckVariables(const std::vector<std::string>& variables) {
  for (const std::string& variable : variables) {
    const size_t equals = variable.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return Broken("env " + variable, "is not NAME=value");
    }
  }
  return {};
}

Status CheckEdits(const CdiEdits& edits) {
  TRY(CheckVariables(edits.env));
  for (const CdiDeviceNode& node : edits.device_nodes) {
    const bool type =
        node.type.empty() || (node.type.size() == 1 &&
                              std::string_view("bcup").find(node.type) != std::string_view::npos);
    if (!type) {
      return Broken(format("type {} of device node {}", node.type, node.path),
                    "is not b, c, u or p");
    }
    if (node.permissions.find_first_not_of("rwm") != std::string::npos) {
      return Broken(format("permissions {} of device node {}", node.permissions, node.path),
                    "are not of r, w and m");
    }
  }
  for (const CdiHook& hook : edits.hooks) {
    if (std::ranges::find(kHookNames, hook.name) == kHookNames.end()) {
      return Broken("hookName " + hook.name, "is no hook of the OCI runtime specification");
    }
    TRY(CheckVariables(hook.env));
  }
  return {};
}

}  // namespace

std::string OldestCdiVersion(const CdiSpec& spec) {
  return std::string(kVersions.at(Needed(spec)));
}

Status CheckCdi(const CdiSpec& spec) {
  TRY(CheckVersion(spec));
  TRY(CheckEdits(spec.edits));
  if (spec.devices.empty()) {
    return Broken("devices", "has none");
  }
  std::set<std::string_view> names;
  for (const CdiDevice& device : spec.devices) {
    if (!names.insert(device.name).second) {
      return Broken("device " + device.name, "is there twice");
    }
    if (device.edits == CdiEdits{}) {
      return Broken("device " + device.name, "has no containerEdits");
    }
    if (const Status checked = CheckEdits(device.edits); !checked) {
      return std::unexpected(checked.error());
    }
  }
  return {};
}

}  // namespace gantry::container
