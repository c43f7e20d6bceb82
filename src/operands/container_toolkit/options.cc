// SPDX-License-Identifier: Apache-2.0
// The flags and environment variables of NVIDIA's installer, as one table: each has several of
// both.
#include "operands/container_toolkit/options.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"

namespace gantry::container_toolkit {
namespace {

using Take = std::function<Status(Options&, const std::string&)>;

struct Flag {
  std::vector<std::string> names;  // without the dashes; the first is the canonical one
  std::vector<std::string> variables;
  bool is_switch;  // may stand alone
  Take take;
  bool is_list = false;       // one that stands there again adds to the earlier
  bool empty_counts = false;  // an empty variable switches it off; others' are as none
};

// What stands between commas; an empty part is none.
std::vector<std::string> Parts(std::string_view value) {
  std::vector<std::string> parts;
  for (const std::string& part : Split(value, ',')) {
    if (const std::string_view trimmed = Trim(part); !trimmed.empty()) {
      parts.emplace_back(trimmed);
    }
  }
  return parts;
}

Take Text(std::string Options::* member) {
  return [member](Options& options, const std::string& value) -> Status {
    options.*member = value;
    return {};
  };
}

Take Bool(bool Options::* member) {
  return [member](Options& options, const std::string& value) -> Status {
    TRY_ASSIGN(options.*member, ParseBool(value));
    return {};
  };
}

Take List(std::vector<std::string> Options::* member) {
  return [member](Options& options, const std::string& value) -> Status {
    options.*member = Parts(value);
    return {};
  };
}

Take OneOf(std::string Options::* member, std::vector<std::string> allowed) {
  return [member, allowed = std::move(allowed)](Options& options,
                                                const std::string& value) -> Status {
    if (std::ranges::find(allowed, value) == allowed.end()) {
      return Fail(ErrorKind::kInvalid, format("\"{}\" is none of {}", value, Join(allowed, ", ")));
    }
    options.*member = value;
    return {};
  };
}

// Accepted because manifests set it; it has no part in how this toolkit works.
Take Ignored(std::string name) {
  return [name = std::move(name)](Options& options, const std::string& value) -> Status {
    if (!name.empty() && !value.empty()) {
      options.remarks.push_back(format("{}={} changes nothing here", name, value));
    }
    return {};
  };
}

Status TakeCdiInRuntime(Options& options, const std::string& value) {
  TRY_ASSIGN(options.cdi_in_runtime, ParseBool(value));
  return {};
}

// NVIDIA's artifacts come as deb or rpm; here static programs serve every distribution.
Status TakePackageType(Options& /*options*/, const std::string& value) {
  return value == "auto" || value == "deb" || value == "rpm"
             ? Status{}
             : Fail(ErrorKind::kInvalid, format("\"{}\" is none of auto, deb, rpm", value));
}

Status TakeDebug(Options& options, const std::string& value) {
  TRY_ASSIGN(const bool on, ParseBool(value));
  if (on) {
    options.remarks.emplace_back("debug changes nothing here: there is nothing more to log");
  }
  return {};
}

// A hook of CRI-O could only let devices in after the runtime has made its rules; they would be
// lost at a daemon-reload.
Status TakeCrioMode(Options& options, const std::string& value) {
  if (value != "config" && value != "hook") {
    return Fail(ErrorKind::kInvalid, format("\"{}\" is none of config, hook", value));
  }
  if (value == "hook") {
    options.remarks.emplace_back(
        "config-mode hook: CRI-O gets the runtimes instead, as with config; pods need the runtime "
        "class or CDI devices");
  }
  return {};
}

Status TakePidFile(Options& options, const std::string& value) {
  if (BaseName(value) != "toolkit.pid") {
    return Fail(ErrorKind::kInvalid, format("\"{}\" is not named toolkit.pid", value));
  }
  options.pid_file = value;
  return {};
}

Status TakeDeviceNodes(Options& options, const std::string& value) {
  if (!value.empty() && value != "control" && value != "none") {
    return Fail(ErrorKind::kInvalid, format("\"{}\" is none of control, none", value));
  }
  options.create_device_nodes = value == "none" ? "" : value;
  return {};
}

// The root file on disk is the only source here: what a command prints is migrated to another
// schema, and holds defaults that nobody wrote (users' nodes went NotReady of it).
Status TakeConfigSource(Options& options, const std::string& value) {
  for (const std::string& source : Parts(value)) {
    if (source.starts_with("file=")) {
      options.remarks.push_back(format("config-source {}: the runtime's own file is read", source));
    } else if (source != "command" && source != "file") {
      return Fail(ErrorKind::kInvalid, format("\"{}\" is none of command, file", source));
    }
  }
  return {};
}

Status TakeNriIndex(Options& options, const std::string& value) {
  const auto index = ParseInt(value);
  if (!index || *index < 0 || *index > 99) {
    return Fail(ErrorKind::kInvalid, format("{} is not between 0 and 99", value));
  }
  options.nri_index = static_cast<int>(*index);
  return {};
}

// NVIDIA's installer reads it and nothing uses it; what can't be read is refused all the same.
Status TakeOverride(Options& options, const std::string& value) {
  TRY_ASSIGN(const Json json, ParseJson(value));
  if (!json.is_object()) {
    return Fail(ErrorKind::kInvalid, "it is no JSON object");
  }
  if (!json.empty()) {
    options.remarks.push_back("runtime-config-override changes nothing, as upstream");
  }
  return {};
}

const std::vector<Flag>& Flags() {
  using O = Options;
  static const std::vector<Flag> flags = {
      {{"no-daemon", "n"}, {"NO_DAEMON"}, true, Bool(&O::no_daemon)},
      {{"no-runtime-config"}, {"NO_RUNTIME_CONFIG"}, true, Bool(&O::no_runtime_config)},
      {{"enable-nri-plugin", "p"}, {"ENABLE_NRI_PLUGIN"}, true, Bool(&O::nri_plugin)},
      {{"nri-plugin-index"}, {"NRI_PLUGIN_INDEX"}, false, TakeNriIndex},
      {{"nri-socket"}, {"NRI_SOCKET"}, false, Text(&O::nri_socket)},
      {{"nri-namespace"}, {"NRI_NAMESPACE"}, false, Text(&O::nri_namespace)},
      {{"nri-management-cdi-device-namespaces"},
       {"NRI_MANAGEMENT_CDI_DEVICE_NAMESPACES"},
       false,
       List(&O::nri_management_namespaces),
       true},
      {{"runtime", "r"}, {"RUNTIME"}, false, OneOf(&O::runtime, {"containerd", "crio", "docker"})},
      {{"toolkit-install-dir", "root"},
       {"TOOLKIT_INSTALL_DIR", "ROOT"},
       false,
       Text(&O::install_dir)},
      {{"toolkit-source-root"}, {"TOOLKIT_SOURCE_ROOT"}, false, Text(&O::source_root)},
      {{"toolkit-package-type"}, {"TOOLKIT_PACKAGE_TYPE"}, false, TakePackageType},
      {{"pid-file"}, {"TOOLKIT_PID_FILE", "PID_FILE"}, false, TakePidFile},
      {{"debug"}, {"TOOLKIT_DEBUG"}, true, TakeDebug},
      {{"driver-root", "nvidia-driver-root"},
       {"NVIDIA_DRIVER_ROOT", "DRIVER_ROOT"},
       false,
       Text(&O::driver_root)},
      {{"driver-root-ctr-path"}, {"DRIVER_ROOT_CTR_PATH"}, false, Ignored("driver-root-ctr-path")},
      {{"driver-install-dir"}, {"DRIVER_INSTALL_DIR"}, false, Text(&O::driver_install_dir)},
      {{"with-driver-container"}, {"WITH_DRIVER_CONTAINER"}, true, Bool(&O::with_driver_container)},
      {{"dev-root"}, {"NVIDIA_DEV_ROOT", "DEV_ROOT"}, false, Text(&O::dev_root)},
      {{"dev-root-ctr-path"}, {"DEV_ROOT_CTR_PATH"}, false, Ignored("dev-root-ctr-path")},
      {{"nvidia-container-runtime.debug", "nvidia-container-runtime-debug"},
       {"NVIDIA_CONTAINER_RUNTIME_DEBUG"},
       false,
       Text(&O::runtime_debug)},
      {{"nvidia-container-runtime.log-level", "nvidia-container-runtime-debug-log-level"},
       {"NVIDIA_CONTAINER_RUNTIME_LOG_LEVEL"},
       false,
       Text(&O::runtime_log_level)},
      {{"nvidia-container-runtime.mode", "nvidia-container-runtime-mode"},
       {"NVIDIA_CONTAINER_RUNTIME_MODE"},
       false,
       OneOf(&O::runtime_mode, {"auto", "cdi", "jit-cdi", "legacy", "csv"})},
      {{"nvidia-container-runtime.modes.cdi.default-kind"},
       {"NVIDIA_CONTAINER_RUNTIME_MODES_CDI_DEFAULT_KIND"},
       false,
       Text(&O::default_kind)},
      {{"nvidia-container-runtime.modes.cdi.annotation-prefixes",
        "nvidia-container-runtime-modes.cdi.annotation-prefixes"},
       {"NVIDIA_CONTAINER_RUNTIME_MODES_CDI_ANNOTATION_PREFIXES"},
       false,
       List(&O::annotation_prefixes),
       true},
      {{"nvidia-container-runtime.runtimes"},
       {"NVIDIA_CONTAINER_RUNTIME_RUNTIMES"},
       false,
       List(&O::low_level_runtimes),
       true},
      {{"nvidia-container-runtime-hook.skip-mode-detection"},
       {"NVIDIA_CONTAINER_RUNTIME_HOOK_SKIP_MODE_DETECTION"},
       true,
       Bool(&O::skip_mode_detection)},
      {{"nvidia-container-cli.debug", "nvidia-container-cli-debug"},
       {"NVIDIA_CONTAINER_CLI_DEBUG"},
       false,
       Text(&O::cli_debug)},
      {{"accept-nvidia-visible-devices-envvar-when-unprivileged"},
       {"ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED"},
       true,
       Bool(&O::accept_environment)},
      {{"accept-nvidia-visible-devices-as-volume-mounts"},
       {"ACCEPT_NVIDIA_VISIBLE_DEVICES_AS_VOLUME_MOUNTS"},
       true,
       Bool(&O::accept_mounts)},
      {{"cdi-enabled", "enable-cdi"}, {"CDI_ENABLED", "ENABLE_CDI"}, true, Bool(&O::cdi_enabled)},
      {{"cdi-output-dir"}, {"CDI_OUTPUT_DIR"}, false, Text(&O::cdi_output_dir), false, true},
      {{"cdi-kind"}, {"CDI_KIND"}, false, Text(&O::cdi_kind)},
      {{"create-device-nodes"}, {"CREATE_DEVICE_NODES"}, false, TakeDeviceNodes, false, true},
      {{"opt-in-features"},
       {"NVIDIA_CONTAINER_TOOLKIT_OPT_IN_FEATURES"},
       false,
       List(&O::opt_in_features),
       true},
      {{"ignore-errors"}, {}, true, Bool(&O::ignore_errors)},
      {{"config"},
       {"RUNTIME_CONFIG", "CONTAINERD_CONFIG", "DOCKER_CONFIG"},
       false,
       Text(&O::runtime_config)},
      {{"drop-in-config"}, {"RUNTIME_DROP_IN_CONFIG"}, false, Text(&O::drop_in_config)},
      {{"drop-in-config-host-path"},
       {"RUNTIME_DROP_IN_CONFIG_HOST_PATH"},
       false,
       Text(&O::drop_in_config)},
      {{"executable-path"}, {"RUNTIME_EXECUTABLE_PATH"}, false, Text(&O::executable)},
      {{"socket"},
       {"RUNTIME_SOCKET", "CONTAINERD_SOCKET", "DOCKER_SOCKET"},
       false,
       Text(&O::socket)},
      {{"restart-mode"},
       {"RUNTIME_RESTART_MODE"},
       false,
       OneOf(&O::restart_mode, {"signal", "systemd", "none"})},
      {{"enable-cdi-in-runtime"}, {"RUNTIME_ENABLE_CDI"}, true, TakeCdiInRuntime},
      {{"host-root"}, {"HOST_ROOT_MOUNT"}, false, Text(&O::host_root)},
      {{"runtime-name", "nvidia-runtime-name", "runtime-class"},
       {"NVIDIA_RUNTIME_NAME", "CONTAINERD_RUNTIME_CLASS", "DOCKER_RUNTIME_NAME"},
       false,
       Text(&O::runtime_name)},
      {{"set-as-default"},
       {"NVIDIA_RUNTIME_SET_AS_DEFAULT", "CONTAINERD_SET_AS_DEFAULT", "DOCKER_SET_AS_DEFAULT"},
       true,
       Bool(&O::set_as_default)},
      {{"config-source", "config-sources"},
       {"RUNTIME_CONFIG_SOURCES", "RUNTIME_CONFIG_SOURCE"},
       false,
       TakeConfigSource},
      {{"use-legacy-config"}, {"CONTAINERD_USE_LEGACY_CONFIG"}, true, Bool(&O::use_legacy_config)},
      {{"runtime-type"}, {"CONTAINERD_RUNTIME_TYPE"}, false, Text(&O::runtime_type)},
      {{"runtime-config-override"},
       {"RUNTIME_CONFIG_OVERRIDE", "CONTAINERD_RUNTIME_CONFIG_OVERRIDE"},
       false,
       TakeOverride},
      {{"hooks-dir"}, {"CRIO_HOOKS_DIR"}, false, Text(&O::hooks_dir)},
      {{"hook-filename"}, {"CRIO_HOOK_FILENAME"}, false, Text(&O::hook_filename)},
      {{"config-mode"}, {"CRIO_CONFIG_MODE"}, false, TakeCrioMode},
  };
  return flags;
}

Status FromEnvironment(const Environment& environment, Options& options) {
  for (const Flag& flag : Flags()) {
    for (const std::string& variable : flag.variables) {
      const auto value = environment(variable);
      if (!value || (value->empty() && !flag.empty_counts)) {
        continue;
      }
      if (const Status taken = flag.take(options, *value); !taken) {
        return std::unexpected(taken.error().In("read " + variable));
      }
      break;
    }
  }
  return {};
}

}  // namespace

Result<Options> ParseOptions(const std::vector<std::string>& words,
                             const Environment& environment) {
  Options options;
  TRY(FromEnvironment(environment, options));
  std::map<std::string, std::string> lists;  // by canonical name: what its flags say so far
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const size_t start = std::min(word.find_first_not_of('-'), word.size());
    const size_t equals = word.find('=');
    const std::string name =
        word.substr(start, equals == std::string::npos ? equals : equals - start);
    const auto flag = std::ranges::find_if(Flags(), [&](const Flag& known) {
      return std::ranges::find(known.names, name) != known.names.end();
    });
    if (start == 0 || flag == Flags().end()) {
      return Fail(ErrorKind::kInvalid, format("read {}: it is no option of the toolkit", word));
    }
    std::string value = "true";
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (!flag->is_switch) {
      if (i + 1 == words.size()) {
        return Fail(ErrorKind::kInvalid, format("read {}: its value is missing", word));
      }
      value = words[++i];
    }
    if (flag->is_list) {
      std::string& list = lists[flag->names.front()];
      list += value + ",";
      value = list;
    }
    if (const Status taken = flag->take(options, value); !taken) {
      return std::unexpected(taken.error().In("read --" + name));
    }
  }
  if (options.nri_plugin && options.no_daemon) {
    options.remarks.emplace_back("enable-nri-plugin changes nothing with no-daemon");
    options.nri_plugin = false;
  }
  if (options.nri_plugin && options.nri_namespace.empty()) {
    return Fail(ErrorKind::kInvalid, "read --enable-nri-plugin: it needs --nri-namespace");
  }
  return options;
}

std::vector<std::string> ManagementNamespaces(const Options& options) {
  std::vector<std::string> namespaces = options.nri_management_namespaces;
  namespaces.push_back(options.nri_namespace);
  return namespaces;
}

std::string OptionsHelp() {
  std::string help;
  for (const Flag& flag : Flags()) {
    help += format("  {}{}{}\n", flag.names.front().size() == 1 ? "-" : "--", flag.names.front(),
                   flag.variables.empty() ? "" : "  [" + Join(flag.variables, ", ") + "]");
  }
  return help;
}

}  // namespace gantry::container_toolkit
