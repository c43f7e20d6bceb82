// SPDX-License-Identifier: Apache-2.0
// Which CDI document do the lists of a Tegra board give? Listed files that the board lacks are left
// out: one list serves boards with different parts.
#include "container/csv_cdi.h"

#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "base/paths.h"
#include "base/text.h"
#include "container/nvidia_cdi.h"

namespace gantry::container {
Result<std::vector<CsvLine>> ParseCsv(std::string_view text) {
  std::vector<CsvLine> lines;
  int number = 0;
  for (const std::string& raw : Split(text, '\n')) {
    ++number;
    const std::string_view line = Trim(raw);
    if (line.empty() || line.front() == '#') {
      continue;
    }
    const size_t comma = line.find(',');
    const std::string_view kind = Trim(line.substr(0, comma));
    const std::string path(comma == std::string_view::npos ? "" : Trim(line.substr(comma + 1)));
    using Kind = CsvLine::Kind;
    const auto known = kind == "dev"   ? std::optional(Kind::kDevice)
                       : kind == "dir" ? std::optional(Kind::kFolder)
                       : kind == "lib" ? std::optional(Kind::kLibrary)
                       : kind == "sym" ? std::optional(Kind::kLink)
                                       : std::nullopt;
    if (!known || !path.starts_with('/')) {
      return Fail(ErrorKind::kInvalid,
                  format("read mount list line {}: it is not dev|dir|lib|sym, <path>", number));
    }
    lines.push_back({*known, path});
  }
  return lines;
}

CdiSpec CsvCdi(const CsvInput& input) {
  CdiSpec spec;
  spec.kind = input.kind;
  HookWork work;
  std::set<std::string> folders;
  std::set<std::string> seen;
  for (const CsvLine& line : input.lines) {
    const bool ignored = std::ranges::any_of(input.ignored, [&](const std::string& pattern) {
      return ::fnmatch(pattern.c_str(), line.path.c_str(), 0) == 0;
    });
    if (ignored || !seen.insert(line.path).second) {
      continue;
    }
    if (line.kind == CsvLine::Kind::kLink) {
      if (const std::string target = input.target(line.path); !target.empty()) {
        work.links.push_back({target, line.path});
      }
      continue;
    }
    const std::string real = input.real(line.path);
    if (real.empty()) {
      continue;
    }
    if (line.kind == CsvLine::Kind::kDevice) {
      spec.edits.device_nodes.push_back({line.path, real == line.path ? "" : real});
      continue;
    }
    spec.edits.mounts.push_back({real, line.path, FileMountOptions()});
    if (line.kind == CsvLine::Kind::kLibrary && line.path.find(".so") != std::string::npos) {
      folders.insert(ParentOf(line.path));
    }
  }
  work.folders.assign(folders.begin(), folders.end());
  work.compat_folder = input.compat_folder;
  spec.edits.env.emplace_back("NVIDIA_VISIBLE_DEVICES=void");
  spec.edits.hooks = HooksFor(input.hook, input.hook_switches, work);
  for (const std::string& name : input.names) {
    // CDI rejects a device that adds nothing.
    spec.devices.push_back({name, {spec.edits.env, {}, {}, {}}});
  }
  return spec;
}

}  // namespace gantry::container
