// SPDX-License-Identifier: Apache-2.0
// Which flags and environment variables does the toolkit have? Those of NVIDIA's installer, as one
// table; each flag has several names and variables.
#include "operands/container_toolkit/flags.h"

#include <algorithm>
#include <string_view>

#include "agent/flags.h"
#include "base/environment.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"

namespace gantry::container_toolkit {
namespace {

using agent::FlagSet;
using Take = FlagSet::Take;

// The values between commas; empty ones are skipped.
std::vector<std::string> Parts(std::string_view value) {
  std::vector<std::string> parts;
  for (const std::string& part : Split(value, ',')) {
    if (const std::string_view trimmed = Trim(part); !trimmed.empty()) {
      parts.emplace_back(trimmed);
    }
  }
  return parts;
}

Take OneOf(std::string& into, std::vector<std::string> allowed) {
  return [&into, allowed = std::move(allowed)](const std::string& value) -> Status {
    if (std::ranges::find(allowed, value) == allowed.end()) {
      return Fail(ErrorKind::kInvalid, format("\"{}\" is none of {}", value, Join(allowed, ", ")));
    }
    into = value;
    return {};
  };
}

Take ListOf(std::vector<std::string>& into) {
  return [&into](const std::string& value) -> Status {
    into = Parts(value);
    return {};
  };
}

// Accepted because manifests set it; it has no effect here.
Take Ignored(Flags& flags, const char* name) {
  return [&flags, name](const std::string& value) -> Status {
    if (!value.empty()) {
      flags.remarks.push_back(format("{}={} changes nothing here", name, value));
    }
    return {};
  };
}

// A CRI-O hook could only allow devices after the runtime has set its rules; a daemon-reload would
// drop them.
Status TakeCrioMode(Flags& flags, const std::string& value) {
  if (value != "config" && value != "hook") {
    return Fail(ErrorKind::kInvalid, format("\"{}\" is none of config, hook", value));
  }
  if (value == "hook") {
    flags.remarks.emplace_back(
        "config-mode hook: CRI-O gets the runtimes instead, as with config; pods need the runtime "
        "class or CDI devices");
  }
  return {};
}

Status TakePidFile(Flags& flags, const std::string& value) {
  if (BaseName(value) != "toolkit.pid") {
    return Fail(ErrorKind::kInvalid, format("\"{}\" is not named toolkit.pid", value));
  }
  flags.pid_file = value;
  return {};
}

Status TakeDeviceNodes(Flags& flags, const std::string& value) {
  if (!value.empty() && value != "control" && value != "none") {
    return Fail(ErrorKind::kInvalid, format("\"{}\" is none of control, none", value));
  }
  flags.create_device_nodes = value == "none" ? "" : value;
  return {};
}

// The root file on disk is the only source here: a command's output is migrated to another schema,
// and contains defaults (users' nodes became NotReady because of that).
Status TakeConfigSource(Flags& flags, const std::string& value) {
  for (const std::string& source : Parts(value)) {
    if (source.starts_with("file=")) {
      flags.remarks.push_back(format("config-source {}: the runtime's own file is read", source));
    } else if (source != "command" && source != "file") {
      return Fail(ErrorKind::kInvalid, format("\"{}\" is none of command, file", source));
    }
  }
  return {};
}

Status TakeNriIndex(Flags& flags, const std::string& value) {
  const auto index = ParseInt(value);
  if (!index || *index < 0 || *index > 99) {
    return Fail(ErrorKind::kInvalid, format("{} is not between 0 and 99", value));
  }
  flags.nri_index = static_cast<int>(*index);
  return {};
}

// NVIDIA's installer parses it and does not use it; an invalid value is still rejected.
Status TakeOverride(Flags& flags, const std::string& value) {
  TRY_ASSIGN(const Json json, ParseJson(value));
  if (!json.is_object()) {
    return Fail(ErrorKind::kInvalid, "it is no JSON object");
  }
  if (!json.empty()) {
    flags.remarks.push_back("runtime-config-override changes nothing, as upstream");
  }
  return {};
}

// A function above, for these flags.
Take Into(Flags& flags, Status (*take)(Flags&, const std::string&)) {
  return [&flags, take](const std::string& value) { return take(flags, value); };
}

void AddProgram(FlagSet& set, Flags& flags) {
  set.Bool("-n,--no-daemon", flags.no_daemon, {"NO_DAEMON"}, "end once the host is as wanted");
  set.Bool("--ignore-errors", flags.ignore_errors, {}, "with --no-daemon: end with 0 all the same");
  set.Value("--toolkit-install-dir,--root", flags.install_dir, {"TOOLKIT_INSTALL_DIR", "ROOT"},
            "the programs go into its folder toolkit");
  set.Value("--toolkit-source-root", flags.source_root, {"TOOLKIT_SOURCE_ROOT"},
            "the folder of this image that has the programs");
  // NVIDIA's artifacts come as deb or rpm; here static programs run on every distribution.
  set.Unused("--toolkit-package-type", {"TOOLKIT_PACKAGE_TYPE"})
      ->check(CLI::IsMember({"auto", "deb", "rpm"}));
  set.Custom("--pid-file", Into(flags, TakePidFile), {"TOOLKIT_PID_FILE", "PID_FILE"},
             "its name is toolkit.pid");
  set.Bool(
      "--debug",
      [&flags](bool on) {
        if (on) {
          flags.remarks.emplace_back("debug changes nothing here: there is nothing more to log");
        }
      },
      {"TOOLKIT_DEBUG"}, "accepted, not used");
  set.Value("--host-root", flags.host_root, {"HOST_ROOT_MOUNT"},
            "where the host's root is mounted here");
}

void AddDriver(FlagSet& set, Flags& flags) {
  set.Value("--driver-root,--nvidia-driver-root", flags.driver_root,
            {"NVIDIA_DRIVER_ROOT", "DRIVER_ROOT"}, "where a driver is looked for first");
  set.Custom("--driver-root-ctr-path", Ignored(flags, "driver-root-ctr-path"),
             {"DRIVER_ROOT_CTR_PATH"}, "accepted, not used");
  set.Value("--driver-install-dir", flags.driver_install_dir, {"DRIVER_INSTALL_DIR"},
            "root of a driver container");
  set.Bool("--with-driver-container", flags.with_driver_container, {"WITH_DRIVER_CONTAINER"},
           "what is there counts once its container is ready");
  set.Value("--dev-root", flags.dev_root, {"NVIDIA_DEV_ROOT", "DEV_ROOT"},
            "the folder that holds dev/ (default: the driver's root)");
  set.Custom("--dev-root-ctr-path", Ignored(flags, "dev-root-ctr-path"), {"DEV_ROOT_CTR_PATH"},
             "accepted, not used");
  set.Custom("--create-device-nodes", Into(flags, TakeDeviceNodes), {"CREATE_DEVICE_NODES"},
             "with CDI: control, none");
}

// For config.toml, which the NVIDIA runtimes read.
void AddNvidiaRuntimes(FlagSet& set, Flags& flags) {
  set.Value("--nvidia-container-runtime.debug,--nvidia-container-runtime-debug",
            flags.runtime_debug, {"NVIDIA_CONTAINER_RUNTIME_DEBUG"}, "a log file");
  set.Value("--nvidia-container-runtime.log-level,--nvidia-container-runtime-debug-log-level",
            flags.runtime_log_level, {"NVIDIA_CONTAINER_RUNTIME_LOG_LEVEL"}, "");
  set.Custom("--nvidia-container-runtime.mode,--nvidia-container-runtime-mode",
             OneOf(flags.runtime_mode, {"auto", "cdi", "jit-cdi", "legacy", "csv"}),
             {"NVIDIA_CONTAINER_RUNTIME_MODE"}, "auto, cdi, jit-cdi, legacy, csv");
  set.Value("--nvidia-container-runtime.modes.cdi.default-kind", flags.default_kind,
            {"NVIDIA_CONTAINER_RUNTIME_MODES_CDI_DEFAULT_KIND"}, "of CDI devices without one");
  set.Custom(
         "--nvidia-container-runtime.modes.cdi.annotation-prefixes,"
         "--nvidia-container-runtime-modes.cdi.annotation-prefixes",
         ListOf(flags.annotation_prefixes),
         {"NVIDIA_CONTAINER_RUNTIME_MODES_CDI_ANNOTATION_PREFIXES"}, "")
      ->join(',');
  set.Custom("--nvidia-container-runtime.runtimes", ListOf(flags.low_level_runtimes),
             {"NVIDIA_CONTAINER_RUNTIME_RUNTIMES"}, "low-level runtimes (default: found)")
      ->join(',');
  set.Bool("--nvidia-container-runtime-hook.skip-mode-detection", flags.skip_mode_detection,
           {"NVIDIA_CONTAINER_RUNTIME_HOOK_SKIP_MODE_DETECTION"}, "");
  set.Value("--nvidia-container-cli.debug,--nvidia-container-cli-debug", flags.cli_debug,
            {"NVIDIA_CONTAINER_CLI_DEBUG"}, "a log file");
  set.Bool("--accept-nvidia-visible-devices-envvar-when-unprivileged", flags.accept_environment,
           {"ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED"}, "");
  set.Bool("--accept-nvidia-visible-devices-as-volume-mounts", flags.accept_mounts,
           {"ACCEPT_NVIDIA_VISIBLE_DEVICES_AS_VOLUME_MOUNTS"}, "");
  set.Custom("--opt-in-features", ListOf(flags.opt_in_features),
             {"NVIDIA_CONTAINER_TOOLKIT_OPT_IN_FEATURES"}, "")
      ->join(',');
}

void AddCdi(FlagSet& set, Flags& flags) {
  set.Bool("--cdi-enabled,--enable-cdi", flags.cdi_enabled, {"CDI_ENABLED", "ENABLE_CDI"},
           "write a CDI document for management containers");
  set.Value("--cdi-output-dir", flags.cdi_output_dir, {"CDI_OUTPUT_DIR"}, "empty: no document");
  set.Value("--cdi-kind", flags.cdi_kind, {"CDI_KIND"}, "of that document");
  set.Bool("-p,--enable-nri-plugin", flags.nri_plugin, {"ENABLE_NRI_PLUGIN"},
           "the runtime's configuration is left alone");
  set.Custom("--nri-plugin-index", Into(flags, TakeNriIndex), {"NRI_PLUGIN_INDEX"}, "0 to 99");
  set.Value("--nri-socket", flags.nri_socket, {"NRI_SOCKET"}, "");
  set.Value("--nri-namespace", flags.nri_namespace, {"NRI_NAMESPACE"}, "the operator's");
  set.Custom("--nri-management-cdi-device-namespaces", ListOf(flags.nri_management_namespaces),
             {"NRI_MANAGEMENT_CDI_DEVICE_NAMESPACES"}, "further ones that may have every GPU")
      ->join(',');
}

void AddContainerRuntime(FlagSet& set, Flags& flags) {
  set.Bool("--no-runtime-config", flags.no_runtime_config, {"NO_RUNTIME_CONFIG"},
           "the runtime's configuration is left alone");
  set.Custom("-r,--runtime", OneOf(flags.runtime, {"containerd", "crio", "docker"}), {"RUNTIME"},
             "containerd, crio, docker");
  set.Value("--config", flags.runtime_config,
            {"RUNTIME_CONFIG", "CONTAINERD_CONFIG", "DOCKER_CONFIG"}, "default: found");
  // The same file as spelled in a container and on the host. Paths here are the host's, so the
  // second counts.
  set.Value("--drop-in-config", flags.drop_in_config, {"RUNTIME_DROP_IN_CONFIG"}, "");
  set.Value("--drop-in-config-host-path", flags.drop_in_config,
            {"RUNTIME_DROP_IN_CONFIG_HOST_PATH"}, "");
  set.Value("--executable-path", flags.executable, {"RUNTIME_EXECUTABLE_PATH"}, "default: found");
  set.Value("--socket", flags.socket, {"RUNTIME_SOCKET", "CONTAINERD_SOCKET", "DOCKER_SOCKET"},
            "default: the one that the kubelet uses");
  set.Custom("--restart-mode", OneOf(flags.restart_mode, {"signal", "systemd", "none"}),
             {"RUNTIME_RESTART_MODE"}, "signal, systemd, none");
  set.Bool("--enable-cdi-in-runtime", flags.cdi_in_runtime, {"RUNTIME_ENABLE_CDI"}, "");
  set.Value("--runtime-name,--nvidia-runtime-name,--runtime-class", flags.runtime_name,
            {"NVIDIA_RUNTIME_NAME", "CONTAINERD_RUNTIME_CLASS", "DOCKER_RUNTIME_NAME"}, "");
  set.Bool("--set-as-default", flags.set_as_default,
           {"NVIDIA_RUNTIME_SET_AS_DEFAULT", "CONTAINERD_SET_AS_DEFAULT", "DOCKER_SET_AS_DEFAULT"},
           "");
  set.Custom("--config-source,--config-sources", Into(flags, TakeConfigSource),
             {"RUNTIME_CONFIG_SOURCES", "RUNTIME_CONFIG_SOURCE"}, "command, file")
      ->join(',');
  set.Bool("--use-legacy-config", flags.use_legacy_config, {"CONTAINERD_USE_LEGACY_CONFIG"},
           "an empty configuration of containerd is of schema 1");
  set.Value("--runtime-type", flags.runtime_type, {"CONTAINERD_RUNTIME_TYPE"}, "");
  set.Custom("--runtime-config-override", Into(flags, TakeOverride),
             {"RUNTIME_CONFIG_OVERRIDE", "CONTAINERD_RUNTIME_CONFIG_OVERRIDE"},
             "accepted, not used");
  set.Value("--hooks-dir", flags.hooks_dir, {"CRIO_HOOKS_DIR"}, "");
  set.Value("--hook-filename", flags.hook_filename, {"CRIO_HOOK_FILENAME"}, "");
  set.Custom("--config-mode", Into(flags, TakeCrioMode), {"CRIO_CONFIG_MODE"}, "config, hook");
}

void AddFlags(FlagSet& set, Flags& flags) {
  // For these two an empty variable is a value; elsewhere it counts as unset.
  if (EnvironmentVariable("CDI_OUTPUT_DIR") == "") {
    flags.cdi_output_dir.clear();
  }
  if (EnvironmentVariable("CREATE_DEVICE_NODES") == "") {
    flags.create_device_nodes.clear();
  }
  AddProgram(set, flags);
  AddDriver(set, flags);
  AddCdi(set, flags);
  AddNvidiaRuntimes(set, flags);
  AddContainerRuntime(set, flags);
}

Status Complete(Flags& flags) {
  if (flags.nri_plugin && flags.no_daemon) {
    flags.remarks.emplace_back("enable-nri-plugin changes nothing with no-daemon");
    flags.nri_plugin = false;
  }
  if (flags.nri_plugin && flags.nri_namespace.empty()) {
    return Fail(ErrorKind::kInvalid, "read --enable-nri-plugin: it needs --nri-namespace");
  }
  return {};
}

}  // namespace

Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv) {
  Flags flags;
  FlagSet set(kProgram, "Keeps NVIDIA's container toolkit on a host.");
  AddFlags(set, flags);
  TRY_ASSIGN(const bool run, set.Parse(argc, argv));
  if (!run) {
    return std::nullopt;
  }
  TRY(Complete(flags));
  return flags;
}

Result<std::optional<CleanupFlags>> ParseCleanupFlags(int argc, const char* const* argv) {
  CleanupFlags flags;
  FlagSet set(kCleanupProgram,
              "Leaves this host as it was before the operator came, and waits until it is stopped. "
              "The flags are the toolkit's: what they name is removed.");
  set.Value("--done-file", flags.done_file, {}, "made once the host is as before");
  AddFlags(set, flags.toolkit);
  TRY_ASSIGN(const bool run, set.Parse(argc, argv));
  if (!run) {
    return std::nullopt;
  }
  TRY(Complete(flags.toolkit));
  // Only the toolkit has this variable.
  flags.wait = std::find(argv, argv + argc, std::string_view("--no-daemon")) == argv + argc;
  return flags;
}

std::vector<std::string> ManagementNamespaces(const Flags& flags) {
  std::vector<std::string> namespaces = flags.nri_management_namespaces;
  namespaces.push_back(flags.nri_namespace);
  return namespaces;
}

}  // namespace gantry::container_toolkit
