// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "policy/cluster_policy.h"

namespace gantry::policy {

struct ImageChoice {
  std::string image;
  // Whether a version was written that has no effect: status says so.
  bool version_ignored = false;
};

// Which image an operand runs. All three parts: as written (a version that begins with sha256: is a
// digest); an image alone: a full reference; a version alone, or nothing: Gantry's image. Any other
// combination is kInvalid; the message has `section` ("devicePlugin", or nothing).
Result<ImageChoice> ChooseImage(const ImageSpec& spec, std::string_view ours,
                                std::string_view section);

// "registry/path/name:tag@digest" -> "name".
std::string_view ImageName(std::string_view image);

}  // namespace gantry::policy
