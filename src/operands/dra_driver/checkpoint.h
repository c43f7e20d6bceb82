// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "kubelet/dra/dra.h"

// Which claims are prepared on this node, in the file that NVIDIA's driver keeps (versions 0.4 and
// 0.5, checkpoint.json: v1 and v2), so that either driver continues where the other stopped.
namespace gantry::dra_driver {

struct ClaimEntry {
  bool completed = false;  // else its preparation has begun
  // JSON in Go's spelling and order, kept byte for byte.
  std::string status;    // of the ResourceClaim: {"allocation":{...}}
  std::string prepared;  // groups of devices; empty while not completed
  std::string name;      // of the claim; may be empty in an entry of NVIDIA's driver
  std::string ns;
  // What `status` and `prepared` say.
  std::vector<kubelet::dra::PreparedDevice> devices = {};
  std::set<std::string> reserved = {};  // the allocated devices, without those of admin access
  bool operator==(const ClaimEntry&) const = default;
};

struct Checkpoint {
  std::map<std::string, ClaimEntry> claims;  // by UID
  std::string boot_id;                       // empty: an old version wrote the file
  bool operator==(const Checkpoint&) const = default;
};

// kInvalid: the file is damaged; the message has the checksums.
Result<Checkpoint> ParseCheckpoint(std::string_view text);
std::string CheckpointText(const Checkpoint& checkpoint);

// The devices of this driver that a claim's status reserves: all but those of admin access.
std::set<std::string> ReservedIn(const Json& status);

// FNV-1a of the bytes' list as Go prints it, which is the checksum of both versions.
uint32_t Checksum(std::string_view text);

}  // namespace gantry::dra_driver
