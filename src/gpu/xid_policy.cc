// SPDX-License-Identifier: Apache-2.0
// Which XID errors are the hardware's and which an application's? The table starts from NVIDIA's
// device plugin (k8s-device-plugin v0.20, internal/rm/health.go: ignore 13, 31, 43, 45, 68, 109;
// every other number is fatal) and departs from it where NVIDIA's Xid catalog
// (XID Errors, analyzing Xid messages) says otherwise: 109 requires a reset of the GPU, and where
// the catalog says "restart the application" or "ignore", the GPU stays in service while it
// answers. Unlike upstream, `DISABLE=all` with `ENABLE=<number>` keeps those numbers enabled.
#include "gpu/xid_policy.h"

#include <set>

#include "base/text.h"

namespace gantry::gpu {
namespace {

struct Range {
  uint64_t first;
  uint64_t last;
  XidVerdict verdict;
};

constexpr Range kTable[] = {
    {13, 13, XidVerdict::kIgnore},  // graphics engine exception
    {31, 31, XidVerdict::kIgnore},  // memory page fault
    {43, 43, XidVerdict::kIgnore},  // stopped processing
    {45, 45, XidVerdict::kIgnore},  // preemptive cleanup
    {68, 68, XidVerdict::kIgnore},  // video decoder exception
    // Catalog: ignore.
    {63, 63, XidVerdict::kSuspect},    // a row was remapped, a page retired
    {92, 93, XidVerdict::kSuspect},    // many corrected errors; InfoROM worn
    {106, 108, XidVerdict::kSuspect},  // test messages; NVLink address translation
    {121, 121, XidVerdict::kSuspect},  // C2C link, corrected
    {137, 137, XidVerdict::kSuspect},  // NVLink access of another GPU
    {141, 141, XidVerdict::kSuspect},
    {157, 157, XidVerdict::kSuspect},
    {160, 161, XidVerdict::kSuspect},
    // Catalog: restart the application.
    {72, 72, XidVerdict::kSuspect},  // copy engines
    {75, 77, XidVerdict::kSuspect},
    {80, 80, XidVerdict::kSuspect},
    {82, 86, XidVerdict::kSuspect},  // video and JPEG engines
    {88, 89, XidVerdict::kSuspect},
    {94, 94, XidVerdict::kSuspect},  // memory error, contained
    {96, 105, XidVerdict::kSuspect},
    {126, 135, XidVerdict::kSuspect},
    {139, 139, XidVerdict::kSuspect},
    // The driver's recovery action has changed: a probe reads it.
    {154, 154, XidVerdict::kSuspect},
};

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

XidVerdict XidPolicy::VerdictOf(uint64_t xid) const {
  const auto found = table.find(xid);
  return found == table.end() ? others : found->second;
}

XidPolicy MakeXidPolicy(const policy::XidRules& rules, std::string_view disable,
                        std::string_view enable) {
  const auto off = Read(disable);
  const auto on = Read(enable);
  XidPolicy policy;
  if (on.all || on.xids) {
    return policy;
  }
  const auto set = [&policy](const auto& xids, XidVerdict verdict) {
    for (const auto xid : xids) {
      policy.table[static_cast<uint64_t>(xid)] = verdict;
    }
  };
  policy.probe = !off.all;
  if (off.all || off.xids) {
    policy.others = XidVerdict::kIgnore;
  } else {
    for (const auto& range : kTable) {
      for (uint64_t xid = range.first; xid <= range.last; ++xid) {
        policy.table[xid] = range.verdict;
      }
    }
    set(rules.ignore, XidVerdict::kIgnore);
    set(rules.suspect, XidVerdict::kSuspect);
    set(rules.unhealthy, XidVerdict::kUnhealthy);
    set(off.numbers, XidVerdict::kIgnore);
  }
  set(on.numbers, XidVerdict::kUnhealthy);
  return policy;
}

}  // namespace gantry::gpu
