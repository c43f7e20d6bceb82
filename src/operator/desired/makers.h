// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "operator/desired/context.h"

namespace gantry::gpu_operator {

// The objects of each operand; the image is the chosen one. One file each in this folder.
Objects NodeFeatures(const Context& context, const std::string& image);
Objects PreRequisites(const Context& context, const std::string& image);
Objects OperatorMetrics(const Context& context, const std::string& image);
Objects ContainerToolkit(const Context& context, const std::string& image);
Objects OperatorValidator(const Context& context, const std::string& image);
Objects DevicePlugin(const Context& context, const std::string& image);
Objects MpsControlDaemon(const Context& context, const std::string& image);
Objects GpuFeatureDiscovery(const Context& context, const std::string& image);
Objects NodeStatusExporter(const Context& context, const std::string& image);
Objects DcgmExporter(const Context& context, const std::string& image);
Objects MigManager(const Context& context, const std::string& image);
Objects VfioManager(const Context& context, const std::string& image);
Objects SandboxValidator(const Context& context, const std::string& image);
Objects SandboxDevicePlugin(const Context& context, const std::string& image);
Objects DraDriver(const Context& context, const std::string& image);

// The same for an operand whose request can be invalid: kInvalid names the field.
Result<Objects> CudaToolkit(const Context& context, const std::string& image);

// The same for operands with NVIDIA's image. kInvalid: why they can't be made, with the field.
Result<Objects> Driver(const Context& context, const std::string& image);
Result<Objects> NvidiaContainerToolkit(const Context& context, const std::string& image);
Result<Objects> NvidiaOperatorValidator(const Context& context, const std::string& image);
Result<Objects> NvidiaDevicePlugin(const Context& context, const std::string& image);
Result<Objects> NvidiaMpsControlDaemon(const Context& context, const std::string& image);
Result<Objects> NvidiaGpuFeatureDiscovery(const Context& context, const std::string& image);
Result<Objects> NvidiaNodeStatusExporter(const Context& context, const std::string& image);
Result<Objects> Dcgm(const Context& context, const std::string& image);
Result<Objects> NvidiaDcgmExporter(const Context& context, const std::string& image);
Result<Objects> NvidiaMigManager(const Context& context, const std::string& image);
Result<Objects> NvidiaDraDriver(const Context& context, const std::string& image);
Result<Objects> VgpuManager(const Context& context, const std::string& image);
Result<Objects> VgpuDeviceManager(const Context& context, const std::string& image);
Result<Objects> NvidiaSandboxValidator(const Context& context, const std::string& image);
Result<Objects> NvidiaVfioManager(const Context& context, const std::string& image);
Result<Objects> NvidiaSandboxDevicePlugin(const Context& context, const std::string& image);
Result<Objects> KataSandboxDevicePlugin(const Context& context, const std::string& image);
Result<Objects> CcManager(const Context& context, const std::string& image);

}  // namespace gantry::gpu_operator
