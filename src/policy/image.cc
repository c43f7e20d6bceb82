// SPDX-License-Identifier: Apache-2.0

// Which image does an operand run? Decided from its section of spec. Manifests for NVIDIA's
// operator have a version alone (of NVIDIA's images). All operands here run one image, which such a
// version can't name, so Gantry's is used, and status says so.

#include "policy/image.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::policy {

namespace {

Result<ImageChoice> WrongImage(std::string_view section, std::string_view why) {
  return Fail(ErrorKind::kInvalid,
              format("spec{}{}: {}", section.empty() ? "" : ".", section, why));
}

}  // namespace

Result<ImageChoice> ChooseImage(const ImageSpec& spec, std::string_view ours,
                                std::string_view section) {
  const bool repository = !spec.repository.empty();
  const bool image = !spec.image.empty();
  const bool version = !spec.version.empty();
  if (repository && image && version) {
    const std::string_view separator = spec.version.starts_with("sha256:") ? "@" : ":";
    return ImageChoice{format("{}/{}{}{}", spec.repository, spec.image, separator, spec.version)};
  }
  if (!repository && image && !version) {
    return ImageChoice{spec.image};
  }
  if (!repository && !image) {
    if (ours.empty()) {
      return WrongImage(section, "no image is set and the operator has no default");
    }
    return ImageChoice{std::string(ours), version};
  }
  return WrongImage(section, "repository, image and version are needed together");
}

std::string_view ImageName(std::string_view image) {
  image = image.substr(0, image.find('@'));
  image.remove_prefix(std::min(image.rfind('/') + 1, image.size()));
  return image.substr(0, image.find(':'));
}

}  // namespace gantry::policy
