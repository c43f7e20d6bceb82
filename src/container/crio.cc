// SPDX-License-Identifier: Apache-2.0
// Which drop-in gives CRI-O the NVIDIA runtimes? It depends on the files that CRI-O already reads.
// Gantry's runtimes get the settings of the default one, since CRI-O inherits nothing.
#include "container/crio.h"

#include <algorithm>

#include "base/text.h"
#include "container/nvidia_runtimes.h"
#include "container/toml_text.h"

namespace gantry::container {
namespace {

constexpr std::string_view kDropInHead =
    "# Written by the container toolkit of the GPU operator, which puts edits back and removes "
    "the\n"
    "# file when it is uninstalled.\n";

// CRI-O's own effective runtime section: later files overwrite keys of earlier ones.
Result<toml::table> RuntimeSection(const std::vector<std::string>& texts) {
  toml::table section;
  for (const std::string& text : texts) {
    TRY_ASSIGN(const toml::table file, ParseToml(text));
    if (const toml::table* runtime = TableAt(file, {"crio", "runtime"})) {
      MergeToml(*runtime, section);
    }
  }
  return section;
}

const toml::table* CrunLike(const toml::table& section) {
  std::vector<std::string> names = {"runc", "crun"};
  const auto named = section["default_runtime"].value<std::string>();
  if (named) {
    names.insert(names.begin(), *named);
  }
  for (const std::string& name : names) {
    if (const toml::table* found = TableAt(section, {"runtimes", name})) {
      return found;
    }
  }
  return nullptr;
}

}  // namespace

Result<CrioPlan> PlanCrio(const CrioWish& wish) {
  TRY_ASSIGN(const toml::table section, RuntimeSection(wish.present));
  CrioPlan plan;
  const std::vector<NvidiaRuntime> runtimes = NvidiaRuntimes(wish.runtime_name, wish.program);
  bool complete = true;
  toml::table tables;
  const toml::table* like = CrunLike(section);
  for (const NvidiaRuntime& runtime : runtimes) {
    plan.handlers.push_back(runtime.name);
    complete = complete && section["runtimes"][runtime.name]["runtime_path"].value_or(
                               std::string()) == runtime.program;
    toml::table table = like == nullptr ? toml::table{} : *like;
    table.insert_or_assign("runtime_path", runtime.program);
    table.insert_or_assign("runtime_type", "oci");
    tables.insert_or_assign(runtime.name, std::move(table));
  }
  const bool set_default = wish.set_as_default &&
                           section["default_runtime"].value_or(std::string()) != wish.runtime_name;
  if (complete && !set_default) {
    return plan;
  }
  toml::table ours;
  if (set_default) {
    ours.insert_or_assign("default_runtime", wish.runtime_name);
  }
  ours.insert_or_assign("runtimes", std::move(tables));
  toml::table root;
  root.insert_or_assign("crio", toml::table{{"runtime", std::move(ours)}});
  plan.drop_in_text = std::string(kDropInHead) + TomlText(root);
  return plan;
}

std::vector<std::string> CrioRuntimePaths(const std::vector<std::string>& texts) {
  std::vector<std::string> paths;
  const auto section = RuntimeSection(texts);
  const toml::table* runtimes = section ? TableAt(*section, {"runtimes"}) : nullptr;
  if (runtimes == nullptr) {
    return paths;
  }
  const auto add = [&](const std::string& name) {
    const auto path = (*runtimes)[name]["runtime_path"].value<std::string>();
    if (path && !path->empty() && !IsNvidiaProgram(*path) &&
        std::ranges::find(paths, *path) == paths.end()) {
      paths.push_back(*path);
    }
  };
  const auto named = (*section)["default_runtime"].value<std::string>();
  if (named) {
    add(*named);
  }
  for (const char* name : {"runc", "crun"}) {
    add(name);
  }
  return paths;
}

Result<std::vector<std::string>> CrioHandlers(std::string_view config) {
  TRY_ASSIGN(const toml::table root, ParseToml(config));
  std::vector<std::string> handlers;
  if (const toml::table* runtimes = TableAt(root, {"crio", "runtime", "runtimes"})) {
    for (const auto& [name, runtime] : *runtimes) {
      handlers.emplace_back(name.str());
    }
  }
  return handlers;
}

}  // namespace gantry::container
