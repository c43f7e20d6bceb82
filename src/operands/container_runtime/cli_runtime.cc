// SPDX-License-Identifier: Apache-2.0
// What does `nvidia-ctk runtime configure` do? It writes the same configuration as the toolkit's
// operand, for hosts without it. It never restarts the engine; the administrator does.
#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>

#include "base/paths.h"
#include "base/text.h"
#include "container/containerd.h"
#include "container/containerd_imports.h"
#include "container/crio.h"
#include "container/docker.h"
#include "host/files.h"
#include "host/processes.h"
#include "operands/container_runtime/toolkit_cli.h"

namespace gantry::container_runtime {
namespace {

using Takes = Flag::Takes;

constexpr char kContainerdConfig[] = "/etc/containerd/config.toml";
constexpr char kCrioConfig[] = "/etc/crio/crio.conf";
constexpr char kRuntimePath[] = "/usr/bin/nvidia-container-runtime";
constexpr char kCrioDropIn[] = "/etc/crio/crio.conf.d/99-nvidia.toml";

Result<std::optional<std::string>> ReadIfThere(const std::string& path) {
  auto text = ReadFile(path);
  if (!text && text.error().kind != ErrorKind::kNotFound) {
    return std::unexpected(text.error());
  }
  return text ? std::optional<std::string>(*std::move(text)) : std::nullopt;
}

// 0.0 if the program does not answer: then no newer behaviour is assumed.
container::ContainerdVersion VersionOf(const std::string& program) {
  host::Command command;
  command.words = {program, "--version"};
  const auto done = host::RunProgram(command);
  return container::ParseContainerdVersion(done ? done->output : "");
}

Status Put(const CliCall& call, const std::string& path, const std::string& text) {
  TRY(host::MakeDirectories(ParentOf(path)));
  TRY_ASSIGN(const bool written, host::WriteIfDifferent(path, text));
  Say(call, format("{} {}", path, written ? "written" : "is right"));
  return {};
}

// nullopt: the engine's own. An empty one is a value: none.
std::optional<std::string> DropIn(const FlagWords& flags) {
  const std::vector<std::string> values = flags.Values("drop-in-config");
  return values.empty() ? std::nullopt : std::optional(values.back());
}

Status ConfigureContainerd(const CliCall& call, const FlagWords& flags,
                           const std::string& runtime_path) {
  container::ContainerdWish wish;
  wish.root_path = flags.Text("config", kContainerdConfig);
  wish.drop_in_path = DropIn(flags).value_or(wish.drop_in_path);
  TRY_ASSIGN(wish.root_text, ReadIfThere(wish.root_path));
  wish.version = VersionOf(flags.Text("executable-path", "/usr/bin/containerd"));
  TRY_ASSIGN(const container::DropInPlace place, container::PlaceDropIn("/", wish, {}));
  if (!place.remark.empty()) {
    Say(call, place.remark);
  }
  if (const std::string why = container::WhyNoCri(wish, place.imports); !why.empty()) {
    Say(call, why);
  }
  wish.drop_in_path = place.path;
  std::ranges::transform(place.imports.files, std::back_inserter(wish.imported),
                         &container::ImportedFile::text);
  wish.program = runtime_path;
  wish.runtime_name = flags.Text("nvidia-runtime-name", "nvidia");
  wish.set_as_default = flags.On("nvidia-set-as-default");
  wish.enable_cdi = flags.On("cdi.enabled");
  wish.owner_asks = true;
  TRY_ASSIGN(const container::ContainerdPlan plan, container::PlanContainerd(wish));
  if (flags.On("dry-run")) {
    const std::string drop_in =
        wish.drop_in_path.empty() ? "" : format("\n# {}\n{}", wish.drop_in_path, plan.drop_in_text);
    return PutOutput("", format("# {}\n{}{}", wish.root_path, plan.root_text, drop_in));
  }
  // The drop-in first: a root file never imports a folder without it.
  if (!plan.drop_in_text.empty()) {
    TRY(Put(call, wish.drop_in_path, plan.drop_in_text));
  }
  return plan.root_text == wish.root_text.value_or("") ? Status{}
                                                       : Put(call, wish.root_path, plan.root_text);
}

// CRI-O reads crio.conf, then every file of the folder in the order of their names.
std::vector<std::string> CrioTexts(const std::string& config, const std::string& drop_in) {
  std::vector<std::string> texts = {ReadFile(config).value_or("")};
  const std::string folder = ParentOf(drop_in);
  for (const std::string& name : ListDirectory(folder).value_or(std::vector<std::string>{})) {
    if (const std::string path = JoinPath(folder, name); path != drop_in) {
      texts.push_back(ReadFile(path).value_or(""));
    }
  }
  return texts;
}

Status ConfigureCrio(const CliCall& call, const FlagWords& flags, const std::string& runtime_path) {
  const std::string drop_in = DropIn(flags).value_or(kCrioDropIn);
  if (drop_in.empty()) {
    return Fail(ErrorKind::kUnsupported,
                "read --drop-in-config: CRI-O's own file is not edited, name another");
  }
  container::CrioWish wish;
  wish.present = CrioTexts(flags.Text("config", kCrioConfig), drop_in);
  wish.program = runtime_path;
  wish.runtime_name = flags.Text("nvidia-runtime-name", "nvidia");
  wish.set_as_default = flags.On("nvidia-set-as-default");
  TRY_ASSIGN(const container::CrioPlan plan, container::PlanCrio(wish));
  if (flags.On("dry-run")) {
    return PutOutput("", plan.drop_in_text);
  }
  return plan.drop_in_text.empty() ? Status{} : Put(call, drop_in, plan.drop_in_text);
}

Status ConfigureDocker(const CliCall& call, const FlagWords& flags,
                       const std::string& runtime_path) {
  container::DockerWish wish;
  wish.path = flags.Text("config", wish.path);
  TRY_ASSIGN(wish.text, ReadIfThere(wish.path));
  wish.program = runtime_path;
  wish.runtime_name = flags.Text("nvidia-runtime-name", "nvidia");
  wish.set_as_default = flags.On("nvidia-set-as-default");
  wish.enable_cdi = flags.On("cdi.enabled");
  wish.owner_asks = true;
  TRY_ASSIGN(const container::DockerPlan plan, container::PlanDocker(wish));
  return flags.On("dry-run") ? PutOutput("", plan.text) : Put(call, wish.path, plan.text);
}

// Docker searches its PATH for a bare name; the others do not.
Result<std::string> RuntimePath(const std::string& asked, const std::string& runtime) {
  if (runtime == "docker" || asked.starts_with('/')) {
    return asked;
  }
  if (asked == BaseName(kRuntimePath)) {
    return kRuntimePath;
  }
  return Fail(ErrorKind::kInvalid,
              format("read --nvidia-runtime-path {}: it is no absolute path", asked));
}

}  // namespace

Status RuntimeConfigure(const CliCall& call) {
  TRY_ASSIGN(const FlagWords flags,
             FlagWords::Parse(call.words,
                              {{{"dry-run"}, Takes::kNothing},
                               {{"runtime"}},
                               {{"config"}},
                               {{"drop-in-config"}},
                               {{"executable-path"}},
                               {{"config-mode"}},
                               {{"config-source"}},
                               {{"oci-hook-path"}},
                               {{"nvidia-runtime-name"}},
                               {{"nvidia-runtime-path", "runtime-path"}},
                               {{"nvidia-runtime-hook-path"}},
                               {{"nvidia-set-as-default", "set-as-default"}, Takes::kNothing},
                               {{"cdi.enabled", "cdi.enable", "enable-cdi"}, Takes::kNothing}},
                              call.environment));
  const std::string mode = flags.Text("config-mode", "config-file");
  if (mode == "oci-hook" || mode == "hook") {
    return Fail(
        ErrorKind::kUnsupported,
        format("read --config-mode {}: devices come by the runtime or CDI, not by a hook of "
               "the engine",
               mode));
  }
  if (mode != "config-file" && mode != "config") {
    Say(call, format("--config-mode {} is not known and changes nothing", mode));
  }
  const std::string source = flags.Text("config-source", "file");
  if (source != "file" && source != "command") {
    return Fail(ErrorKind::kInvalid,
                format("read --config-source {}: it is not file or command", source));
  }
  if (source == "command") {
    Say(call, "--config-source command changes nothing: the files themselves are read and edited");
  }
  const std::string runtime = flags.Text("runtime", "docker");
  const std::string drop_in = DropIn(flags).value_or("");
  if (!drop_in.empty() && (runtime == "docker" || !drop_in.starts_with('/'))) {
    return Fail(ErrorKind::kInvalid, format("read --drop-in-config {}: {}", drop_in,
                                            runtime == "docker" ? "Docker reads no such files"
                                                                : "it is no absolute path"));
  }
  TRY_ASSIGN(const std::string runtime_path,
             RuntimePath(flags.Text("nvidia-runtime-path", kRuntimePath), runtime));
  if (runtime == "containerd") {
    return ConfigureContainerd(call, flags, runtime_path);
  }
  if (runtime == "crio") {
    return ConfigureCrio(call, flags, runtime_path);
  }
  if (runtime == "docker") {
    return ConfigureDocker(call, flags, runtime_path);
  }
  return Fail(ErrorKind::kUnsupported,
              format("configure {}: it is not containerd, crio or docker", runtime));
}

}  // namespace gantry::container_runtime
