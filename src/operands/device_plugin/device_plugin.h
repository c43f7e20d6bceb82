// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::device_plugin {

// The command nvidia-device-plugin: offers this node's GPUs to its kubelet until SIGTERM. Returns
// the exit status.
int RunDevicePlugin(int argc, char** argv);

}  // namespace gantry::device_plugin
