// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/paths.h"
#include "gpu/owners.h"

// The file of owners between the programs of a node. Readers keep the file locked (flock) that they
// last acted on, or its folder while there is none, and a writer replaces the file and waits until
// nobody has the earlier one locked any more. So a reader answers also from a read-only mount, and
// one that ended keeps nobody waiting.
namespace gantry::gpu {

// What one reader knows. Not thread-safe.
class OwnersReader {
 public:
  // `directory` is that of the status files, and need not exist yet.
  explicit OwnersReader(const std::string& directory);

  // The file; to be watched.
  [[nodiscard]] const std::string& path() const { return path_; }

  // The owners, if the file is another one than at the last call; no file: there are none. From
  // here until CarriedOut a writer waits for this reader. kInvalid: the file is damaged; the
  // earlier owners stay. Blocks no longer than a writer needs to replace the file.
  Result<std::optional<Owners>> Take();

  // This reader uses no GPU any more that another program has, and uses again those that came back.
  void CarriedOut();

 private:
  // Locked for readers; not valid: neither file nor folder exists.
  [[nodiscard]] Result<Fd> OpenNewest(bool& is_file) const;

  const std::string path_;
  bool taken_ = false;
  Fd newest_;
  std::vector<Fd> earlier_;  // locked until `newest_` is carried out
};

// The part of the file that one program writes. It has the GPUs that it names there.
class OwnersWriter {
 public:
  // The directory of the status files; it is made if needed.
  OwnersWriter(const std::string& directory, std::string program);

  // What the program has, also from an earlier run.
  [[nodiscard]] Result<Owners> Owned() const;

  // Makes `mine` what the program has, and waits until every reader has carried it out. kTimeout: a
  // reader has not after `limit`; the message names it, and the program has what it had before.
  // kConflict: another program has one of them. A damaged file is replaced.
  [[nodiscard]] Status Take(const Owners& mine, std::chrono::milliseconds limit) const;

  // The program has none any more. False: a reader has not taken them up within `limit`.
  [[nodiscard]] Result<bool> GiveBack(std::chrono::milliseconds limit) const;

 private:
  // The owners before, and whether all readers have carried out `mine`.
  [[nodiscard]] Result<std::pair<Owners, bool>> Replace(const Owners& mine,
                                                        std::chrono::milliseconds limit,
                                                        std::string& late) const;
  [[nodiscard]] Result<Owners> Read() const;

  const std::string path_;
  const std::string program_;
};

}  // namespace gantry::gpu
