// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/error.h"

namespace gantry::gpu {

// Beside the status files of a node (host/status_files.h).
inline constexpr char kOwnersFile[] = ".gpu-owners.json";

// A program that has a GPU for itself, so that containers do not get it.
struct Owner {
  std::string program = {};  // "mig-change"
  std::string reason = {};   // for people: "the MIG layout changes to all-1g.10gb"
  bool exclusive = false;    // no other program may have the driver open either
  bool operator==(const Owner&) const = default;
};

// By UUID of the GPU. One that is not here is the device plugin's.
using Owners = std::map<std::string, Owner>;

// The file's text; `boot_id` as host::BootId() gives it.
std::string OwnersText(const Owners& owners, const std::string& boot_id);
// Nobody, if the file is of another boot: a program of that boot does not run any more. kInvalid
// names the key.
Result<Owners> ParseOwners(std::string_view text, const std::string& boot_id);

// `before` with `mine`, whose program need not be set, in place of what `program` had. kConflict:
// another program has one of them.
Result<Owners> WithOwned(Owners before, const std::string& program, const Owners& mine);

// Those that `program` has.
Owners OwnedBy(const Owners& owners, std::string_view program);
// Whether a GPU is to be held open by its owner only.
bool AnyExclusive(const Owners& owners);

}  // namespace gantry::gpu
