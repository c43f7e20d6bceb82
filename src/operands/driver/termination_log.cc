// SPDX-License-Identifier: Apache-2.0
// How does a container tell the kubelet why it ended?
#include "operands/driver/termination_log.h"

#include <fcntl.h>

#include "base/log.h"
#include "base/paths.h"

namespace gantry::driver {

void WriteTerminationLog(const std::string& path, const std::string& text) {
  const Fd file(open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!file.valid()) {
    return;
  }
  if (const Status wrote = WriteDescriptor(file.get(), text, path); !wrote) {
    log::Warning("{}", wrote.error().message);
  }
}

}  // namespace gantry::driver
