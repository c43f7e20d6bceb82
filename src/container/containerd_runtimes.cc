// SPDX-License-Identifier: Apache-2.0
// Which settings does a Gantry runtime share with the node's other runtimes? A runtime's program
// shows whose it is; its name may be any.
#include "container/containerd_runtimes.h"

#include <algorithm>

#include "base/text.h"
#include "container/toml_text.h"

namespace gantry::container {
namespace {

constexpr std::string_view kProgram = "BinaryName";
constexpr std::string_view kProgramBefore = "Runtime";  // of containerd's first shim
constexpr std::string_view kSystemd = "SystemdCgroup";

// The key as the table spells it.
std::vector<std::string> Spellings(const toml::table& options, std::string_view key) {
  std::vector<std::string> found;
  for (const auto& [name, value] : options) {
    if (Lower(name.str()) == Lower(key)) {
      found.emplace_back(name.str());
    }
  }
  return found;
}

template <typename T>
void SetOption(toml::table& options, std::string_view key, const T& value) {
  for (const std::string& spelling : Spellings(options, key)) {
    options.erase(spelling);
  }
  options.insert_or_assign(key, value);
}

std::vector<std::string> RuntimeNames(const toml::table& cri) {
  std::vector<std::string> names = {"runc", "crun"};
  const std::string named = cri["containerd"]["default_runtime_name"].value_or(std::string());
  if (!named.empty()) {
    names.insert(names.begin(), named);
  }
  return names;
}

const toml::table* TemplateRuntime(const toml::table& cri) {
  for (const std::string& name : RuntimeNames(cri)) {
    if (const toml::table* found = TableAt(cri, {"containerd", "runtimes", name})) {
      return found;
    }
  }
  return nullptr;
}

// If the files already have a table of the same runtime, containerd merges the two: set each
// spelling of the key to the same value.
void SpellAsPresent(const toml::table& present, toml::table& options) {
  const toml::table ours = options;
  for (const auto& [key, value] : ours) {
    for (const std::string& spelling : Spellings(present, key.str())) {
      value.visit([&](const auto& typed) { options.insert_or_assign(spelling, typed); });
    }
  }
}

}  // namespace

std::string CriPlugin(int schema) {
  return schema == 1   ? "cri"
         : schema == 2 ? "io.containerd.grpc.v1.cri"
                       : "io.containerd.cri.v1.runtime";
}

const toml::table* CriTable(const toml::table& root, int schema) {
  return TableAt(root, {"plugins", CriPlugin(schema)});
}

bool RunsProgram(const toml::table* runtime, const std::string& program) {
  const toml::table* options = runtime == nullptr ? nullptr : TableAt(*runtime, {"options"});
  if (options == nullptr) {
    return false;
  }
  const std::vector<std::string> spellings = Spellings(*options, kProgram);
  return !spellings.empty() && std::ranges::all_of(spellings, [&](const std::string& spelling) {
    return (*options)[spelling].value_or(std::string()) == program;
  });
}

toml::table RuntimeTable(const ContainerdWish& wish, const toml::table& cri,
                         const NvidiaRuntime& runtime, int schema) {
  const toml::table* like = TemplateRuntime(cri);
  toml::table table = like == nullptr ? toml::table{} : *like;
  if (table["runtime_type"].value_or(std::string()).empty()) {
    table.insert_or_assign("runtime_type", wish.runtime_type);
  }
  if (table.get_as<toml::table>("options") == nullptr) {
    table.insert_or_assign("options", toml::table{});
  }
  toml::table& options = *table.get_as<toml::table>("options");
  SetOption(options, kProgram, runtime.program);
  if (schema == 1 || !Spellings(options, kProgramBefore).empty()) {
    SetOption(options, kProgramBefore, runtime.program);
  }
  if (like == nullptr && wish.kubelet_uses_systemd) {
    SetOption(options, kSystemd, true);
  }
  if (const toml::table* present =
          TableAt(cri, {"containerd", "runtimes", runtime.name, "options"})) {
    SpellAsPresent(*present, options);
  }
  if (!wish.annotation_prefixes.empty()) {
    toml::array* given = table.get_as<toml::array>("container_annotations");
    toml::array patterns = given == nullptr ? toml::array{} : *given;
    for (const std::string& prefix : wish.annotation_prefixes) {
      const std::string pattern = prefix + "*";
      const bool there = std::ranges::any_of(patterns, [&](const toml::node& node) {
        return node.value_or(std::string()) == pattern;
      });
      if (!there) {
        patterns.push_back(pattern);
      }
    }
    table.insert_or_assign("container_annotations", std::move(patterns));
  }
  return table;
}

std::vector<std::string> LowLevelPrograms(const toml::table& cri) {
  std::vector<std::string> programs;
  for (const std::string& name : RuntimeNames(cri)) {
    const toml::table* options = TableAt(cri, {"containerd", "runtimes", name, "options"});
    if (options == nullptr) {
      continue;
    }
    for (const std::string& spelling : Spellings(*options, kProgram)) {
      const std::string path = (*options)[spelling].value_or(std::string());
      if (!path.empty() && !IsNvidiaProgram(path)) {
        programs.push_back(path);
      }
    }
  }
  return programs;
}

}  // namespace gantry::container
