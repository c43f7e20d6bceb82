// SPDX-License-Identifier: Apache-2.0
// Which files does a node get? Two static programs, links to them with the names of NVIDIA's
// toolkit, their configuration, and the CDI document of management containers.
#include "operands/container_toolkit/desired_files.h"

#include <algorithm>
#include <array>

#include "base/paths.h"
#include "base/text.h"
#include "container/cdi.h"
#include "container/toml_text.h"
#include "policy/management_cdi.h"
#include "policy/names.h"

namespace gantry::container_toolkit {
namespace {

constexpr char kRuntime[] = "gantry-runtime";
constexpr char kCtk[] = "gantry-ctk";
struct Alias {
  const char* name;
  const char* program;
};
constexpr std::array kAliases = {
    Alias{"nvidia-cdi-hook", kRuntime},
    Alias{"nvidia-container-runtime", kRuntime},
    Alias{"nvidia-container-runtime.cdi", kRuntime},
    Alias{"nvidia-container-runtime.legacy", kRuntime},
    Alias{"nvidia-container-runtime-hook", kRuntime},
    Alias{"nvidia-container-toolkit", kRuntime},
    Alias{"nvidia-ctk", kCtk},
};

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  }
  return quoted + "\"";
}

std::string QuotedList(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  quoted.reserve(texts.size());
  for (const std::string& text : texts) {
    quoted.push_back(Quoted(text));
  }
  return "[" + Join(quoted, ", ") + "]";
}

std::vector<std::string> LowLevelRuntimes(const Flags& flags, const HostFacts& facts) {
  if (!flags.low_level_runtimes.empty()) {
    return flags.low_level_runtimes;
  }
  std::vector<std::string> runtimes = facts.low_level_runtimes;
  for (const char* name : {"runc", "crun"}) {
    if (std::ranges::find(runtimes, name) == runtimes.end()) {
      runtimes.emplace_back(name);
    }
  }
  return runtimes;
}

}  // namespace

std::string ToolkitDir(const Flags& flags) { return JoinPath(flags.install_dir, "toolkit"); }

std::string RuntimeProgram(const Flags& flags) {
  return JoinPath(ToolkitDir(flags), "nvidia-container-runtime");
}

std::string ManagementCdiPath(const Flags& flags) {
  if (!flags.cdi_enabled || flags.cdi_output_dir.empty()) {
    return "";
  }
  return JoinPath(flags.cdi_output_dir, container::CdiFileStem(flags.cdi_kind) + ".yaml");
}

container::CdiDevice KernelLogDevice(bool host_has_it) {
  container::CdiDevice device{names::kKernelLogDevice, {}};
  if (host_has_it) {
    device.edits.device_nodes.push_back({.path = "/dev/kmsg", .host_path = ""});
    device.edits.device_nodes.back().permissions = "r";
  } else {
    // CDI refuses a device without edits; this one repeats the document's own.
    device.edits.env.push_back(format("{}=void", names::kVisibleDevices));
  }
  return device;
}

std::vector<std::string> RuntimesInConfigFile(const std::string& text) {
  std::vector<std::string> runtimes;
  const auto config = container::ParseToml(text);
  const toml::table* runtime =
      config ? container::TableAt(*config, {"nvidia-container-runtime"}) : nullptr;
  const toml::array* list = runtime == nullptr ? nullptr : (*runtime)["runtimes"].as_array();
  if (list != nullptr) {
    for (const toml::node& entry : *list) {
      runtimes.push_back(entry.value_or(std::string()));
    }
  }
  return runtimes;
}

std::string RuntimeConfigPath(const Flags& flags) {
  return JoinPath(ToolkitDir(flags), ".config/nvidia-container-runtime/config.toml");
}

std::string RuntimeConfigFile(const Flags& flags, const HostFacts& facts) {
  const std::string folder = ToolkitDir(flags);
  std::string text =
      "# Written by the container toolkit of the GPU operator, which puts edits back.\n";
  const auto line = [&](std::string_view key, std::string_view value) {
    text += format("{} = {}\n", key, value);
  };
  line("accept-nvidia-visible-devices-as-volume-mounts", flags.accept_mounts ? "true" : "false");
  line("accept-nvidia-visible-devices-envvar-when-unprivileged",
       flags.accept_environment ? "true" : "false");
  text += "\n[nvidia-container-cli]\n";
  if (!flags.cli_debug.empty()) {
    line("debug", Quoted(flags.cli_debug));
  }
  line("ldconfig", Quoted("@" + JoinPath(facts.driver_root, "sbin/ldconfig")));
  line("path", Quoted(JoinPath(folder, "nvidia-container-cli")));
  line("root", Quoted(facts.driver_root));
  text += "\n[nvidia-container-runtime]\n";
  if (!flags.runtime_debug.empty()) {
    line("debug", Quoted(flags.runtime_debug));
  }
  if (!flags.runtime_log_level.empty()) {
    line("log-level", Quoted(flags.runtime_log_level));
  }
  line("mode", Quoted(flags.runtime_mode));
  line("runtimes", QuotedList(LowLevelRuntimes(flags, facts)));
  text += "\n[nvidia-container-runtime.modes.cdi]\n";
  line("annotation-prefixes", flags.annotation_prefixes.empty()
                                  ? QuotedList({"cdi.k8s.io/"})
                                  : QuotedList(flags.annotation_prefixes));
  if (!flags.default_kind.empty()) {
    line("default-kind", Quoted(flags.default_kind));
  }
  line("spec-dirs", QuotedList({"/etc/cdi", names::kCdiDir}));
  text += "\n[nvidia-container-runtime-hook]\n";
  line("path", Quoted(JoinPath(folder, "nvidia-container-runtime-hook")));
  line("skip-mode-detection", flags.skip_mode_detection ? "true" : "false");
  text += "\n[nvidia-ctk]\n";
  line("path", Quoted(JoinPath(folder, "nvidia-ctk")));
  if (!flags.opt_in_features.empty()) {
    text += "\n[features]\n";
  }
  for (const std::string& feature : flags.opt_in_features) {
    line(feature, "true");
  }
  return text;
}

std::vector<host::Change> DesiredFiles(const Flags& flags, const HostFacts& facts) {
  using Kind = host::Change::Kind;
  const std::string folder = ToolkitDir(flags);
  std::vector<host::Change> changes;
  // The configuration first: then the program is configured from its first start.
  changes.push_back(
      {Kind::kFile, RuntimeConfigPath(flags), RuntimeConfigFile(flags, facts), 0644, std::nullopt});
  // The program that the others delegate to comes first.
  changes.push_back({Kind::kFile, JoinPath(folder, kCtk), "", 0755, std::nullopt, facts.ctk});
  changes.push_back(
      {Kind::kFile, JoinPath(folder, kRuntime), "", 0755, std::nullopt, facts.runtime});
  for (const auto& [name, program] : kAliases) {
    changes.push_back({Kind::kSymlink, JoinPath(folder, name), program, 0, std::nullopt});
  }
  if (!facts.management_cdi.empty()) {
    changes.push_back(
        {Kind::kFile, ManagementCdiPath(flags), facts.management_cdi, 0644, std::nullopt});
  }
  return changes;
}

}  // namespace gantry::container_toolkit
