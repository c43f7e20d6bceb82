// SPDX-License-Identifier: Apache-2.0
// Which CDI document of a node has a device? A document is parsed only if its text contains one of
// the requested kinds, because this runs at container starts.
#include "container/cdi_registry.h"

#include <algorithm>
#include <utility>

#include "base/paths.h"
#include "base/text.h"
#include "container/cdi_rules.h"

namespace gantry::container {

namespace {

// As some writers of JSON spell it: "nvidia.com\/gpu".
std::string Escaped(std::string kind) {
  const size_t slash = kind.find('/');
  return slash == std::string::npos ? kind : kind.insert(slash, 1, '\\');
}

// The file that has a device, and its folder.
struct Place {
  size_t folder = 0;
  std::string path;
};

// Adds one file's devices to those of the files before. Two of one folder stay in conflict, also if
// a later folder has the device again, as in containerd's library.
void Note(const CdiSpec& spec, const Place& place, std::map<std::string, Place>& places,
          CdiRegistry& registry) {
  for (const CdiDevice& device : spec.devices) {
    const std::string name = format("{}={}", spec.kind, device.name);
    const auto [before, fresh] = places.emplace(name, place);
    if (!fresh && before->second.folder == place.folder) {
      registry.conflicts.emplace(
          name, format("device {} is in two files, {} and {}: it can't be used until one of them "
                       "is taken away",
                       name, before->second.path, place.path));
    }
    before->second = place;
  }
}

Result<CdiSpec> Read(const std::string& text) {
  TRY_ASSIGN(CdiSpec spec, ParseCdi(text));
  TRY(CheckCdi(spec));
  return spec;
}

}  // namespace

CdiRegistry LoadCdi(const std::vector<std::string>& folders, const std::vector<std::string>& kinds,
                    std::vector<std::string>& warnings) {
  CdiRegistry registry;
  std::map<std::string, Place> places;
  for (size_t folder = 0; folder < folders.size(); ++folder) {
    const auto names = ListDirectory(folders[folder]).value_or(std::vector<std::string>{});
    for (const std::string& name : names) {
      if (!name.ends_with(".json") && !name.ends_with(".yaml")) {
        continue;
      }
      const std::string path = JoinPath(folders[folder], name);
      const auto text = ReadFile(path);
      const auto named = [&](const std::string& kind) {
        return text->find(kind) != std::string::npos ||
               text->find(Escaped(kind)) != std::string::npos;
      };
      if (!text || (!kinds.empty() && std::ranges::none_of(kinds, named))) {
        continue;
      }
      auto spec = Read(*text);
      if (!spec) {
        warnings.push_back(path + ": " + spec.error().message);
      } else if (kinds.empty() || std::ranges::find(kinds, spec->kind) != kinds.end()) {
        Note(*spec, {folder, path}, places, registry);
        registry.specs.push_back(*std::move(spec));
      }
    }
  }
  for (const auto& [name, sentence] : registry.conflicts) {
    warnings.push_back(sentence);
  }
  std::ranges::reverse(registry.specs);
  return registry;
}

Result<CdiEdits> ResolveDevice(const CdiRegistry& registry, const std::vector<std::string>& kinds,
                               const std::string& device) {
  for (const std::string& kind : kinds) {
    const auto conflict = registry.conflicts.find(format("{}={}", kind, device));
    if (conflict != registry.conflicts.end()) {
      return Fail(ErrorKind::kInvalid, conflict->second);
    }
    for (const CdiSpec& spec : registry.specs) {
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
