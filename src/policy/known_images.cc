// SPDX-License-Identifier: Apache-2.0

// Which image does a section with a version alone mean? A GPUClusterPolicy can't name more, and a
// requested driver must not be left out.
#include "policy/known_images.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::policy {
namespace {

// The start of its tag or digest; npos: none.
size_t EndOfName(const std::string& image) {
  const size_t digest = image.find('@');
  return std::min(image.find(':', image.rfind('/', digest) + 1), digest);
}

// The full reference for such a section; empty: it names an image itself, or requests none.
std::string ImageOf(const Json& section, const std::string& known) {
  if (!TextAt(section, "repository").empty() || !TextAt(section, "image").empty()) {
    return "";
  }
  const size_t end = EndOfName(known);
  const std::string version = TextAt(section, "version");
  if (version.empty()) {
    return end == std::string::npos ? "" : known;
  }
  return format("{}{}{}", known.substr(0, end), version.starts_with("sha256:") ? "@" : ":",
                version);
}

}  // namespace

Json WithKnownImages(Json policy, const KnownImages& known) {
  Json& spec = policy["spec"];
  for (const auto& [name, image] : known) {
    const Json* section = At(spec, name);
    const std::string reference = ImageOf(section == nullptr ? Json::object() : *section, image);
    if (!reference.empty()) {
      spec[name]["image"] = reference;
      spec[name].erase("version");
    }
  }
  return policy;
}

}  // namespace gantry::policy
