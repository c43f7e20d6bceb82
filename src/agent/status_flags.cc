// SPDX-License-Identifier: Apache-2.0
// Which status files of the node does a program wait for before it works?
#include "agent/status_flags.h"

#include <algorithm>
#include <iterator>

#include "policy/names.h"

namespace gantry::agent {

bool StatusFlags::WaitsFor(std::string_view file) const {
  return std::ranges::find(wait_for, file) != wait_for.end();
}

std::vector<std::string> StatusFlags::Missing(const host::StatusFiles& files) const {
  std::vector<std::string> missing;
  std::ranges::copy_if(wait_for, std::back_inserter(missing),
                       [&](const std::string& name) { return !files.Read(name).has_value(); });
  return missing;
}

void AddStatusFlags(FlagSet& set, StatusFlags& to) {
  set.List("--wait-for-validations", to.wait_for, {"WAIT_FOR_VALIDATIONS"},
           "status files to wait for");
  set.Value("--status-dir", to.status_dir, {}, "")->default_val(names::kValidationsDir);
}

}  // namespace gantry::agent
