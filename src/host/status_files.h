// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// The files under /run/nvidia/validations by which the operands of a node tell each other which
// steps are complete (driver-ready, toolkit-ready, plugin-ready, cuda-ready): lines `NAME=value`.
namespace gantry::host {

// Gantry's lines in every status file, beside those that NVIDIA's validator writes in driver-ready
// (IS_HOST_DRIVER, NVIDIA_DRIVER_ROOT, DRIVER_ROOT_CTR_PATH, NVIDIA_DEV_ROOT, DEV_ROOT_CTR_PATH).
inline constexpr char kBootIdLine[] = "GANTRY_BOOT_ID";
inline constexpr char kOwnerLine[] = "GANTRY_OWNER";
inline constexpr char kDriverVersionLine[] = "GANTRY_DRIVER_VERSION";

using StatusValues = std::map<std::string, std::string>;

// Lines without "=" and empty lines are left out; quotes around a value are removed.
StatusValues ParseStatusFile(std::string_view text);
std::string StatusFileText(const StatusValues& values);

// /proc/sys/kernel/random/boot_id, without the line feed.
Result<std::string> BootId();

class StatusFiles {
 public:
  // `boot_id` as BootId() gives it.
  StatusFiles(std::string directory, std::string boot_id);
  // The directory, and the boot id of the running kernel.
  static Result<StatusFiles> Open(std::string directory);

  [[nodiscard]] const std::string& directory() const { return directory_; }

  // The values of a file that counts. kNotFound: no file, or one of an earlier boot. A file without
  // a boot id (written by NVIDIA's validator) counts if it is younger than this boot, and always on
  // a tmpfs.
  [[nodiscard]] Result<StatusValues> Read(const std::string& name) const;

  // Writes the file in one step, with this boot's id and the owner, and makes the directory if
  // needed. True if the content changed; an equal file is not touched.
  Result<bool> Write(const std::string& name, StatusValues values, const std::string& owner) const;

  // True if there was a file (of whatever boot).
  Result<bool> Remove(const std::string& name) const;

  // Blocks until every named file exists and counts: true; false if `stop_fd` (below 0: none)
  // became readable first. Wakes only for changes in the directory, which need not exist yet.
  Result<bool> WaitFor(const std::vector<std::string>& names, int stop_fd) const;

 private:
  std::string directory_;
  std::string boot_id_;
};

}  // namespace gantry::host
