// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "policy/cluster_policy.h"

namespace gantry::policy {

struct ImageChoice {
  std::string image;
  // Whether a version was written that this choice does not follow: status says so.
  bool version_ignored = false;
};

// Which image an operand runs. All three parts: as written (a version that begins with sha256: is a
// digest); an image alone: a full reference; a version alone, or nothing: our image. Any other
// combination is kInvalid; `section` ("devicePlugin", or nothing) stands in the message.
Result<ImageChoice> ChooseImage(const ImageSpec& spec, std::string_view ours,
                                std::string_view section);

// "registry/path/name:tag@digest" -> "name".
std::string_view ImageName(std::string_view image);

}  // namespace gantry::policy
