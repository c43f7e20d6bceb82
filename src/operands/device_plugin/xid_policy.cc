// SPDX-License-Identifier: Apache-2.0
// Which XID errors are the hardware's and which an application's? The ignored ones are NVIDIA's
// list (k8s-device-plugin v0.20, internal/rm/health.go); "XID Errors", docs.nvidia.com/deploy,
// explains the numbers. Unlike upstream, `DISABLE=all` with `ENABLE=<number>` leaves those numbers
// in force.
#include "operands/device_plugin/xid_policy.h"

#include "base/text.h"

namespace gantry::device_plugin {
namespace {

// 13 graphics engine exception, 31 memory page fault, 43 stopped processing, 45 preemptive cleanup,
// 68 video processor exception, 109 context switch time-out.
const std::set<uint64_t>& ApplicationErrors() {
  static const std::set<uint64_t> xids = {13, 31, 43, 45, 68, 109};
  return xids;
}

struct Words {
  bool all = false;
  bool xids = false;
  std::set<uint64_t> numbers;
};

Words Read(std::string_view text) {
  Words words;
  for (const auto& part : Split(text, ',')) {
    const auto word = Lower(Trim(part));
    words.all = words.all || word == "all";
    words.xids = words.xids || word == "xids";
    if (const auto number = ParseInt(word); number && *number >= 0) {
      words.numbers.insert(static_cast<uint64_t>(*number));
    }
  }
  return words;
}

}  // namespace

bool XidPolicy::IsFatal(uint64_t xid) const {
  if (fatal.contains(xid)) {
    return true;
  }
  return others_are_fatal && !ignored.contains(xid);
}

XidPolicy ParseXidPolicy(std::string_view disable, std::string_view enable) {
  const auto off = Read(disable);
  const auto on = Read(enable);
  XidPolicy policy;
  if (on.all || on.xids) {
    return policy;
  }
  policy.probe = !off.all;
  policy.others_are_fatal = !off.all && !off.xids;
  policy.ignored = ApplicationErrors();
  policy.ignored.insert(off.numbers.begin(), off.numbers.end());
  policy.fatal = on.numbers;
  return policy;
}

}  // namespace gantry::device_plugin
