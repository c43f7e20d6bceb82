// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "policy/cluster_policy.h"

namespace gantry::policy {

// The source of the nodes' CUDA: an image or a volume.
struct CudaSource {
  std::string version;  // its first two or three numbers: "12.4", "12.4.1"
  std::string image;    // empty: the volume
  Json volume;          // a core/v1 VolumeSource to read; null: the image
};

// The source that spec.cuda requests. A volume; else an image: repository and image with `version`
// as the tag, a full reference in `image` alone, or `ours` ("nvcr.io/nvidia/cuda", without a tag)
// with the tag of NVIDIA's images of that version. kInvalid names the field.
Result<CudaSource> ChooseCudaSource(const CudaSpec& spec, std::string_view ours);

}  // namespace gantry::policy
