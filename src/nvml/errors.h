// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvml.h>

#include <string>
#include <string_view>

#include "base/error.h"

namespace gantry::nvml {

// What the caller does about an NVML code. kUnavailable: the GPU or the driver fails now, retry.
ErrorKind KindOf(nvmlReturn_t code);
// NVML's name of the code without its prefix: "GPU_IS_LOST"; "code 77" for an unknown one.
std::string CodeName(nvmlReturn_t code);
// "call object: CODE_NAME"; call is the NVML function's name, object e.g. "GPU 3" or empty.
std::unexpected<Error> FailNvml(std::string_view call, std::string_view object, nvmlReturn_t code);

}  // namespace gantry::nvml
