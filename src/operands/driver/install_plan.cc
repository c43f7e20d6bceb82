// SPDX-License-Identifier: Apache-2.0
// Where do this node's kernel modules come from? A module fits one kernel. Precompiled modules are
// preferred to a compile, and the message names what is missing: usually a kernel was updated, and
// its package or headers were not.
#include "operands/driver/install_plan.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/text.h"
#include "operands/driver/modules.h"

namespace gantry::driver {
namespace {

constexpr long long kOpenSince = 560;
constexpr size_t kNamedModules = 4;

std::string Named(const std::set<std::string>& names) {
  std::vector<std::string> some;
  for (const std::string& name : names) {
    if (some.size() == kNamedModules) {
      some.push_back(format("{} more", names.size() - kNamedModules));
      break;
    }
    some.push_back(name);
  }
  return some.empty() ? "none" : Join(some, ", ");
}

std::string KindsName(const std::vector<bool>& kinds) {
  std::vector<std::string> names;
  names.reserve(kinds.size());
  for (const bool open : kinds) {
    names.emplace_back(KindName(open));
  }
  return Join(names, " or ");
}

// Precompiled modules, but not for this kernel and driver.
std::string MissingPackage(const Flags& flags, const InstallFacts& facts,
                           const std::vector<bool>& kinds) {
  std::set<std::string> there;
  for (const ModulePackage& package : facts.packages) {
    there.insert(
        format("{}/{}/{}", package.kernel_release, package.version, KindName(package.open)));
  }
  return format("no package of modules {}/{}/{} in {}{} (there: {})", flags.kernel_release,
                flags.version, KindsName(kinds), flags.precompiled,
                flags.packages.empty() ? "" : format(" or {}", flags.packages), Named(there));
}

std::string MissingSources(const Flags& flags, const InstallFacts& facts,
                           const std::vector<bool>& kinds) {
  std::set<std::string> there;
  for (const SourceTree& tree : facts.sources) {
    there.insert(format("{} {}", tree.version, KindName(tree.open)));
  }
  return format("no {} sources of {} below {} (there: {})", KindsName(kinds), flags.version,
                flags.sources, Named(there));
}

std::string MissingHeaders(const Flags& flags, const InstallFacts& facts) {
  return format("no headers of kernel {} (looked for: {})", flags.kernel_release,
                Join(facts.headers_looked_for, ", "));
}

const ModulePackage* FindPackage(const Flags& flags, const InstallFacts& facts, bool open) {
  const auto found = std::ranges::find_if(facts.packages, [&](const ModulePackage& package) {
    return package.kernel_release == flags.kernel_release && package.version == flags.version &&
           package.open == open;
  });
  return found == facts.packages.end() ? nullptr : &*found;
}

const SourceTree* FindSources(const Flags& flags, const InstallFacts& facts,
                              const std::vector<bool>& kinds) {
  for (const bool open : kinds) {
    const auto found = std::ranges::find_if(facts.sources, [&](const SourceTree& tree) {
      return tree.version == flags.version && tree.open == open;
    });
    if (found != facts.sources.end()) {
      return &*found;
    }
  }
  return nullptr;
}

std::string What(const Flags& flags) {
  return format("install driver {} for kernel {}", flags.version, flags.kernel_release);
}

// Sources in a folder win over a runfile: a user put them there on purpose.
Result<InstallPlan> PlanCompile(const Flags& flags, const InstallFacts& facts,
                                const std::vector<bool>& kinds, const std::string& note) {
  std::vector<std::string> missing;
  if (!note.empty()) {
    missing.push_back(note);
  }
  const SourceTree* const sources = FindSources(flags, facts, kinds);
  if (sources == nullptr && facts.runfile.empty()) {
    missing.push_back(MissingSources(flags, facts, kinds));
  }
  if (facts.headers.build.empty()) {
    missing.push_back(MissingHeaders(flags, facts));
  }
  if ((sources == nullptr && facts.runfile.empty()) || facts.headers.build.empty()) {
    return Fail(ErrorKind::kNotFound, format("{}: {}", What(flags), Join(missing, "; ")));
  }
  if (sources != nullptr) {
    return InstallPlan{Way::kCompile, sources->path, sources->open, note};
  }
  return InstallPlan{Way::kRunfile, facts.runfile, kinds.front(), note};
}

// The kinds in order of preference.
const ModulePackage* FindPackage(const Flags& flags, const InstallFacts& facts,
                                 const std::vector<bool>& kinds) {
  if (flags.precompiled_use == Precompiled::kNever) {
    return nullptr;
  }
  for (const bool open : kinds) {
    if (const ModulePackage* package = FindPackage(flags, facts, open)) {
      return package;
    }
  }
  return nullptr;
}

bool IsVersionText(std::string_view text) {
  return text.find('.') != std::string_view::npos && !text.ends_with('.') &&
         std::isdigit(static_cast<unsigned char>(text.front())) != 0 &&
         std::ranges::all_of(text,
                             [](unsigned char c) { return std::isdigit(c) != 0 || c == '.'; });
}

}  // namespace

std::string_view KindName(bool open) { return open ? "open" : "proprietary"; }

std::vector<bool> OpenOrNot(ModuleType type, std::string_view version) {
  switch (type) {
    case ModuleType::kOpen:
      return {true};
    case ModuleType::kProprietary:
      return {false};
    case ModuleType::kAuto:
      break;
  }
  const auto branch = ParseInt(version.substr(0, version.find('.')));
  const bool open = branch.value_or(kOpenSince) >= kOpenSince;
  return {open, !open};
}

Result<InstallPlan> PlanInstall(const Flags& flags, const InstallFacts& facts) {
  const std::vector<bool> kinds = OpenOrNot(flags.module_type, flags.version);
  const ModulePackage* const package = FindPackage(flags, facts, kinds);
  if (facts.loaded && facts.loaded_version == flags.version && facts.same_digest) {
    const bool in_image = package != nullptr || FindSources(flags, facts, kinds) != nullptr;
    return InstallPlan{Way::kLoaded, in_image ? "" : facts.runfile, kinds.front(), ""};
  }
  if (package != nullptr) {
    const bool deb = package->path.ends_with(".deb");
    return InstallPlan{deb ? Way::kPackage : Way::kPrecompiled, package->path, package->open, ""};
  }
  if (flags.precompiled_use == Precompiled::kNever) {
    return PlanCompile(flags, facts, kinds, "");
  }
  const std::string missing = MissingPackage(flags, facts, kinds);
  if (flags.precompiled_use == Precompiled::kOnly) {
    return Fail(ErrorKind::kNotFound, format("{}: {}, and USE_PRECOMPILED=true forbids to compile",
                                             What(flags), missing));
  }
  return PlanCompile(flags, facts, kinds, missing);
}

NamedTree ParseTreeName(std::string_view folder) {
  NamedTree tree;
  if (!folder.starts_with("nvidia")) {
    return tree;
  }
  const size_t hyphen = folder.rfind('-');
  if (hyphen == std::string_view::npos || hyphen + 1 == folder.size()) {
    return tree;
  }
  const std::string_view version = folder.substr(hyphen + 1);
  if (IsVersionText(version)) {
    tree.version = version;
    tree.open = folder.substr(0, hyphen).find("-open") != std::string_view::npos;
  }
  return tree;
}

ModulePackage ParsePackage(std::string_view package, std::string_view version,
                           std::string_view paths) {
  ModulePackage found;
  // "[epoch:]upstream[-revision]" (deb-version(7)).
  std::string_view upstream = Trim(version);
  upstream.remove_prefix(upstream.find(':') == std::string_view::npos ? 0 : upstream.find(':') + 1);
  found.version = upstream.substr(0, upstream.find('-'));
  found.open = package.find("-open") != std::string_view::npos;
  constexpr std::string_view kFolder = "lib/modules/";
  for (const std::string& line : Split(paths, '\n')) {
    const size_t at = line.find(kFolder);
    if (at == std::string::npos || ModuleOfFile(line.substr(line.rfind('/') + 1)).empty()) {
      continue;
    }
    const std::string rest = line.substr(at + kFolder.size());
    found.kernel_release = rest.substr(0, rest.find('/'));
    break;
  }
  return found;
}

std::string CommonHeaders(std::string_view makefile) {
  for (const std::string& line : Split(makefile, '\n')) {
    constexpr std::string_view kInclude = "include /";
    constexpr std::string_view kMakefile = "/Makefile";
    const std::string_view text = Trim(line);
    if (text.starts_with(kInclude) && text.ends_with(kMakefile)) {
      const std::string_view path = text.substr(kInclude.size() - 1);
      return std::string(path.substr(0, path.size() - kMakefile.size()));
    }
  }
  return "";
}

}  // namespace gantry::driver
