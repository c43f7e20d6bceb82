// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::sandbox_device_plugin {

// `nvidia-kubevirt-gpu-device-plugin`: offers this node's GPUs for virtual machines to its kubelet.
// Returns the exit code.
int RunSandboxDevicePlugin(int argc, char** argv);

}  // namespace gantry::sandbox_device_plugin
