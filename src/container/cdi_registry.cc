// SPDX-License-Identifier: Apache-2.0
// Finding a device in the CDI documents of a node. A document is parsed only if its text names one
// of the kinds asked for: this runs at container starts.
#include "container/cdi_registry.h"

#include <algorithm>

#include "base/paths.h"
#include "base/text.h"

namespace gantry::container {

namespace {

// As some writers of JSON spell it: "nvidia.com\/gpu".
std::string Escaped(std::string kind) {
  const size_t slash = kind.find('/');
  return slash == std::string::npos ? kind : kind.insert(slash, 1, '\\');
}

}  // namespace

std::vector<CdiSpec> LoadCdi(const std::vector<std::string>& folders,
                             const std::vector<std::string>& kinds,
                             std::vector<std::string>& warnings) {
  std::vector<CdiSpec> specs;
  for (const std::string& folder : folders) {
    for (const std::string& name : ListDirectory(folder).value_or(std::vector<std::string>{})) {
      if (!name.ends_with(".json") && !name.ends_with(".yaml")) {
        continue;
      }
      const std::string path = JoinPath(folder, name);
      const auto text = ReadFile(path);
      const auto named = [&](const std::string& kind) {
        return text->find(kind) != std::string::npos ||
               text->find(Escaped(kind)) != std::string::npos;
      };
      if (!text || (!kinds.empty() && std::ranges::none_of(kinds, named))) {
        continue;
      }
      auto spec = ParseCdi(*text);
      if (!spec) {
        warnings.push_back(path + ": " + spec.error().message);
      } else if (kinds.empty() || std::ranges::find(kinds, spec->kind) != kinds.end()) {
        specs.push_back(*std::move(spec));
      }
    }
  }
  std::ranges::reverse(specs);
  return specs;
}

Result<CdiEdits> ResolveDevice(const std::vector<CdiSpec>& specs,
                               const std::vector<std::string>& kinds, const std::string& device) {
  for (const std::string& kind : kinds) {
    for (const CdiSpec& spec : specs) {
      if (spec.kind != kind) {
        continue;
      }
      CdiEdits edits = spec.edits;
      if (device == "none") {
        return edits;
      }
      const auto found = std::ranges::find(spec.devices, device, &CdiDevice::name);
      if (found == spec.devices.end()) {
        continue;
      }
      AppendEdits(found->edits, edits);
      return edits;
    }
  }
  return Fail(ErrorKind::kNotFound,
              format("find device {}: no CDI document of {} has it", device, Join(kinds, ", ")));
}

}  // namespace gantry::container
