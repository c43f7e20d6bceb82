// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "container/cdi.h"

namespace gantry::cuda_toolkit {

// A release that is available to containers.
struct OfferedCuda {
  std::string release;    // "12.4"
  std::string host_path;  // of its copy
  std::string libraries;  // the folder of its libraries, below the copy: "lib64"
  // Names in that folder under which a program loads a library ("libcudart.so.12").
  std::vector<std::string> sonames;
};

// The CDI document: a device for each release, and "default" for the policy's release. A container
// gets the copy below /opt/nvidia, where no image has CUDA. The hook at `hook_path` on the host
// (empty: none) links it as /usr/local/cuda-12.4 and /usr/local/cuda if the image has nothing of
// that name, and adds its libraries to the linker's cache unless the image has a CUDA runtime.
container::CdiSpec CudaDocument(const std::vector<OfferedCuda>& offered,
                                std::string_view default_release, const std::string& hook_path);

}  // namespace gantry::cuda_toolkit
