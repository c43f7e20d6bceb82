// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/paths.h"

// Locks between programs of a node (flock(2)): they end with the process that has them.
namespace gantry::host {

// Locks an open file or folder, alone. False: others still had it locked after `limit`. Blocks.
Result<bool> LockWithin(const Fd& file, std::chrono::milliseconds limit);

// Makes the file and its folder if needed, and locks it until the result is destroyed. The file
// stays. kTimeout names the programs that have had it locked for all of `limit`. Blocks.
Result<Fd> LockFile(const std::string& path, std::chrono::milliseconds limit);

// Process ids of those that have a file locked, by the text of /proc/locks.
std::vector<int> LockHolders(std::string_view proc_locks, unsigned major, unsigned minor,
                             unsigned long inode);
// "process 12 (gantry), process 14 (gantry)": of those that have it locked and that this process
// sees.
std::string HoldersText(const Fd& file);

}  // namespace gantry::host
