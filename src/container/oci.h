// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "container/cdi.h"

// The configuration of a container as the OCI runtime reads it (config.json of its bundle).
namespace gantry::container {

// The parts of a configuration that request devices.
struct OciRequest {
  std::vector<std::string> environment;  // of the container's process
  bool privileged = false;               // CAP_SYS_ADMIN in the bounding set
};
OciRequest ReadOciRequest(const Json& config);

// The value of a variable of the container's process; nullopt if it is not set.
std::optional<std::string> OciEnvironment(const OciRequest& request, std::string_view name);

struct DeviceNumbers {
  char type = 'c';  // or 'b', or 'p' for a FIFO, which has no numbers
  unsigned major = 0;
  unsigned minor = 0;
  unsigned mode = 0666;
  unsigned uid = 0;
  unsigned gid = 0;
};
// Finds a device node of the host; kNotFound names a missing node.
using DeviceLookup = std::function<Result<DeviceNumbers>(const std::string& host_path)>;

// Adds the edits to the configuration, as CDI's own library does. An existing entry of the same
// name (variable, device path, mount destination) is replaced; an equal hook is not added twice.
Status ApplyEdits(const CdiEdits& edits, const DeviceLookup& lookup, Json& config);

// Removes NVIDIA's prestart hook, which Docker adds for `--gpus`: its work is already done.
void RemoveNvidiaHook(Json& config);

}  // namespace gantry::container
