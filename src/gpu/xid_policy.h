// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "policy/plugin_config.h"

namespace gantry::gpu {

enum class XidVerdict {
  kIgnore,     // an application's error
  kSuspect,    // the GPU stays in service as long as it answers
  kUnhealthy,  // out of service until it has recovered
};

// What each XID error means for a GPU's service.
struct XidPolicy {
  bool probe = true;  // GPUs are probed
  XidVerdict others = XidVerdict::kUnhealthy;
  std::map<uint64_t, XidVerdict> table;

  [[nodiscard]] XidVerdict VerdictOf(uint64_t xid) const;
  bool operator==(const XidPolicy&) const = default;
};

// The built-in table, changed by the configuration's `health.xids`, and then by
// DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS: comma lists of XID numbers, `xids` and `all`,
// in any case; other words are ignored.
XidPolicy MakeXidPolicy(const policy::XidRules& rules, std::string_view disable,
                        std::string_view enable);

}  // namespace gantry::gpu
