// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string_view>

namespace gantry::device_plugin {

// Which XID errors take a GPU out of service.
struct XidPolicy {
  bool probe = true;             // GPUs are asked whether they are alive
  bool others_are_fatal = true;  // what stands in neither set
  std::set<uint64_t> ignored;
  std::set<uint64_t> fatal;  // counts before `ignored`

  [[nodiscard]] bool IsFatal(uint64_t xid) const;
  // No event can have an effect.
  [[nodiscard]] bool listens() const { return others_are_fatal || !fatal.empty(); }
  bool operator==(const XidPolicy&) const = default;
};

// From DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS: comma lists of XID numbers, `xids` and
// `all`, in any case; other words are ignored.
XidPolicy ParseXidPolicy(std::string_view disable, std::string_view enable);

}  // namespace gantry::device_plugin
