// SPDX-License-Identifier: Apache-2.0
// What does `nvidia-ctk cdi` do? It makes documents from this node's driver and GPUs, lists them,
// and converts their roots. The program never loads NVML (it is static, and a driver's library may
// need a newer C library than a host has): GPUs come from the toolkit's inventory, or from the
// kernel module's procfs.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/paths.h"
#include "base/text.h"
#include "container/cdi_registry.h"
#include "container/csv_cdi.h"
#include "container/nvidia_cdi.h"
#include "container/special_cdi.h"
#include "operands/container_runtime/cdi_documents.h"
#include "operands/container_runtime/config_place.h"
#include "operands/container_runtime/inject.h"
#include "operands/container_runtime/toolkit_cli.h"
#include "policy/names.h"

namespace gantry::container_runtime {
namespace {

using container::CdiSpec;
using Takes = Flag::Takes;

const std::vector<Flag>& GenerateFlags() {
  static const std::vector<Flag> flags = {
      {{"output"}, Takes::kValue, {"NVIDIA_CTK_CDI_OUTPUT_FILE_PATH"}},
      {{"format"}, Takes::kValue, {"NVIDIA_CTK_CDI_GENERATE_OUTPUT_FORMAT"}},
      {{"mode", "discovery-mode"}, Takes::kValue, {"NVIDIA_CTK_CDI_GENERATE_MODE"}},
      {{"device-name-strategy"}, Takes::kValue, {"NVIDIA_CTK_CDI_GENERATE_DEVICE_NAME_STRATEGIES"}},
      {{"driver-root"}, Takes::kValue, {"NVIDIA_CTK_DRIVER_ROOT"}},
      {{"dev-root"}, Takes::kValue, {"NVIDIA_CTK_DEV_ROOT"}},
      {{"config-search-path"}, Takes::kValue, {"NVIDIA_CTK_CDI_GENERATE_CONFIG_SEARCH_PATHS"}},
      {{"library-search-path"}, Takes::kValue, {"NVIDIA_CTK_CDI_GENERATE_LIBRARY_SEARCH_PATHS"}},
      {{"nvidia-cdi-hook-path", "nvidia-ctk-path"}, Takes::kValue, {"NVIDIA_CTK_CDI_HOOK_PATH"}},
      {{"ldconfig-path"}, Takes::kValue, {"NVIDIA_CTK_CDI_GENERATE_LDCONFIG_PATH"}},
      {{"vendor", "cdi-vendor"}, Takes::kValue, {"NVIDIA_CTK_CDI_GENERATE_VENDOR"}},
      {{"class", "cdi-class"}, Takes::kValue, {"NVIDIA_CTK_CDI_GENERATE_CLASS"}},
      {{"csv.file"}, Takes::kValue, {"NVIDIA_CTK_CDI_GENERATE_CSV_FILES"}},
      {{"csv.ignore-pattern"}, Takes::kValue, {"NVIDIA_CTK_CDI_GENERATE_CSV_IGNORE_PATTERNS"}},
      {{"csv.compat-container-root"},
       Takes::kValue,
       {"NVIDIA_CTK_CDI_GENERATE_CSV_CONTAINER_COMPAT_ROOT"}},
      {{"disable-hook", "disable-hooks"},
       Takes::kValue,
       {"NVIDIA_CTK_CDI_GENERATE_DISABLED_HOOKS"}},
      {{"enable-hook", "enable-hooks"}, Takes::kValue, {"NVIDIA_CTK_CDI_GENERATE_ENABLED_HOOKS"}},
      {{"feature-flag", "feature-flags"}, Takes::kValue, {"NVIDIA_CTK_CDI_GENERATE_FEATURE_FLAGS"}},
      {{"no-all-device"}, Takes::kNothing, {"NVIDIA_CTK_CDI_GENERATE_NO_ALL_DEVICE"}},
      {{"device-id", "device-ids", "device", "devices"},
       Takes::kValue,
       {"NVIDIA_CTK_CDI_GENERATE_DEVICE_IDS"}},
  };
  return flags;
}

bool Exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// The kind of a mode's documents, with the flags' vendor and class instead of its own.
std::string KindOf(const FlagWords& flags, const std::string& mode) {
  const std::string own = mode == "management" ? names::kManagementCdiKind
                          : mode == "nvml" || mode == "csv"
                              ? GenerateRequest{}.kind
                              : container::SpecialCdiKind("nvidia.com", mode);
  const size_t slash = own.find('/');
  return format("{}/{}", flags.Text("vendor", own.substr(0, slash)),
                flags.Text("class", own.substr(slash + 1)));
}

// The flags' settings of the node.
GenerateRequest RequestOf(const FlagWords& flags) {
  GenerateRequest request;
  const std::string hook = flags.Text("nvidia-cdi-hook-path");
  request.hook = hook.empty() ? FindHookProgram() : HookProgramAt(hook);
  request.names = flags.List("device-name-strategy", {"index", "uuid"});
  request.hook_switches = {flags.List("disable-hook"), flags.List("enable-hook")};
  request.features = flags.List("feature-flag");
  request.all_device = !flags.On("no-all-device");
  request.devices = flags.List("device-id", {"all"});
  return request;
}

container::DriverPlace PlaceOf(const FlagWords& flags, const RuntimeConfig& settings,
                               const GenerateRequest& request) {
  container::DriverPlace place;
  const std::string configured = settings.driver_root.empty() ? "/" : settings.driver_root;
  place.root = flags.Text("driver-root", configured);
  place.host_root = place.root;
  place.dev_root = flags.Text("dev-root", place.root);
  place.host_dev_root = place.dev_root;
  place.library_folders = flags.List("library-search-path");
  place.config_folders = flags.List("config-search-path");
  place.every_library = std::ranges::find(request.features, "enable-explicit-driver-libraries") !=
                        request.features.end();
  return place;
}

Result<CdiSpec> FromLists(const CliCall& call, const FlagWords& flags,
                          const RuntimeConfig& settings, const GenerateRequest& request,
                          const container::DriverPlace& place) {
  container::CsvInput input;
  input.kind = request.kind;
  input.hook = request.hook;
  input.hook_switches = request.hook_switches;
  input.ignored = flags.List("csv.ignore-pattern");
  input.real = [&place](const std::string& path) {
    const auto real = ResolveInRoot(path.starts_with("/dev/") ? place.dev_root : place.root, path);
    return real && Exists(*real) ? *real : "";
  };
  input.target = [&place](const std::string& path) {
    char target[4096];
    const ssize_t length =
        ::readlink(JoinPath(place.root, path).c_str(), &target[0], sizeof(target));
    return length > 0 ? std::string(&target[0], static_cast<size_t>(length)) : "";
  };
  std::vector<std::string> files = flags.List("csv.file");
  if (files.empty()) {
    for (const char* name : {"devices.csv", "drivers.csv", "l4t.csv"}) {
      files.push_back(JoinPath(settings.csv_folder, name));
    }
  }
  for (const std::string& file : files) {
    const auto text = ReadFile(file);
    if (!text && text.error().kind == ErrorKind::kNotFound) {
      Say(call, format("mount list {} is not there; it is left out", file));
      continue;
    }
    if (!text) {
      return std::unexpected(text.error());
    }
    const auto lines = container::ParseCsv(*text);
    if (!lines) {
      return std::unexpected(lines.error().In(file));
    }
    input.lines.insert(input.lines.end(), lines->begin(), lines->end());
  }
  if (input.lines.empty()) {
    return Fail(ErrorKind::kNotFound,
                format("find the driver: nothing stands in {}", Join(files, ", ")));
  }
  input.compat_folder = flags.Text("csv.compat-container-root", settings.csv_compat_folder);
  if (Exists(JoinPath(place.root, container::kTegraRelease))) {
    input.lines.push_back({container::CsvLine::Kind::kFolder, container::kTegraRelease});
  }
  TRY_ASSIGN(input.names, BoardNames(request));
  return container::CsvCdi(input);
}

Result<CdiSpec> Generate(const CliCall& call, const FlagWords& flags,
                         const RuntimeConfig& settings) {
  GenerateRequest request = RequestOf(flags);
  const auto& known = container::CdiFeatures();
  for (const std::string& feature : request.features) {
    if (std::ranges::find(known, feature) == known.end()) {
      Say(call, format("--feature-flag {} is not known; it is ignored", feature));
    }
  }
  const container::DriverPlace place = PlaceOf(flags, settings, request);
  std::string mode = Lower(flags.Text("mode", "auto"));
  if (mode == "auto") {
    const bool tegra = Exists(JoinPath(place.root, container::kTegraRelease)) &&
                       !Exists(JoinPath(place.dev_root, "dev/nvidiactl"));
    mode = Exists(JoinPath(place.dev_root, "dev/dxg")) ? "wsl" : tegra ? "csv" : "nvml";
  }
  request.kind = KindOf(flags, mode);
  if (mode == "nvml" || mode == "management") {
    TRY_ASSIGN(container::NodeInventory inventory, LookAtNode(place, NodePlaces{}));
    return mode == "nvml" ? WorkloadDocument(request, std::move(inventory))
                          : ManagementDocument(request, std::move(inventory));
  }
  if (mode == "csv") {
    return FromLists(call, flags, settings, request, place);
  }
  TRY_ASSIGN(CdiSpec spec,
             container::SpecialCdi(mode, request.kind, place, request.hook, request.hook_switches));
  if (request.all_device) {
    container::AddAllDevice(spec);
  }
  return spec;
}

bool IsPrinted(const std::string& path) { return path.empty() || path == "-"; }

// "json" or "yaml": by flag, else by the output's file name.
Result<std::string> FormatOf(const std::string& wanted, const std::string& path) {
  const std::string implied = Lower(path).ends_with(".json") ? "json" : "yaml";
  const std::string form = wanted.empty() ? implied : Lower(wanted);
  if (form != "json" && form != "yaml") {
    return Fail(ErrorKind::kInvalid, format("read --format {}: it is not json or yaml", wanted));
  }
  return form;
}

// Engines only read files named .json and .yaml.
std::string WithExtension(const std::string& path, const std::string& form) {
  if (IsPrinted(path) || path.ends_with(".json") || path.ends_with(".yaml")) {
    return path;
  }
  constexpr std::string_view kShort = ".yml";
  return path.ends_with(kShort) ? path.substr(0, path.size() - kShort.size()) + ".yaml"
                                : path + "." + form;
}

Status PutSpec(const CdiSpec& spec, const std::string& form, const std::string& path) {
  return PutOutput(path, form == "json" ? container::CdiText(spec) : container::CdiYaml(spec));
}

// "/var/run/cdi/nvidia.yaml" and ".coherent" -> "/var/run/cdi/nvidia.coherent.yaml"; standard
// output stays standard output.
std::string WithInfix(const std::string& path, const std::string& infix) {
  if (IsPrinted(path)) {
    return path;
  }
  const std::string name = BaseName(path);
  const size_t dot = name.rfind('.');
  const size_t end = dot == std::string::npos ? 0 : name.size() - dot;
  return path.substr(0, path.size() - end) + infix + path.substr(path.size() - end);
}

}  // namespace

Status CdiGenerate(const CliCall& call) {
  TRY_ASSIGN(const FlagWords flags,
             FlagWords::Parse(call.words, GenerateFlags(), call.environment));
  TRY_ASSIGN(const RuntimeConfig settings, LoadConfig());
  TRY_ASSIGN(const CdiSpec spec, Generate(call, flags, settings));
  if (!container::ParseCdiName(spec.kind + "=all")) {
    return Fail(ErrorKind::kInvalid,
                format("read --vendor, --class: {} is no kind that CDI allows", spec.kind));
  }
  TRY_ASSIGN(const std::string form, FormatOf(flags.Text("format"), flags.Text("output")));
  const std::string path = WithExtension(flags.Text("output"), form);
  TRY(PutSpec(spec, form, path));
  for (const container::CdiPart& part :
       container::PartsByCoherence(spec, !flags.On("no-all-device"))) {
    TRY(PutSpec(part.spec, form, WithInfix(path, part.infix)));
  }
  return {};
}

Status CdiList(const CliCall& call) {
  TRY_ASSIGN(
      const FlagWords flags,
      FlagWords::Parse(call.words, {{{"spec-dir"}, Takes::kValue, {"NVIDIA_CTK_CDI_SPEC_DIRS"}}},
                       call.environment));
  TRY_ASSIGN(const RuntimeConfig settings, LoadConfig());
  std::vector<std::string> warnings;
  std::set<std::string> names;
  const std::vector<std::string> folders = flags.List("spec-dir", settings.spec_dirs);
  const container::CdiRegistry registry = container::LoadCdi(folders, {}, warnings);
  for (const CdiSpec& spec : registry.specs) {
    for (const container::CdiDevice& device : spec.devices) {
      const std::string name = format("{}={}", spec.kind, device.name);
      if (!registry.conflicts.contains(name)) {
        names.insert(name);
      }
    }
  }
  std::string text;
  for (const std::string& name : names) {
    text += name + "\n";
  }
  for (const std::string& warning : warnings) {
    Say(call, warning);
  }
  Say(call, format("found {} CDI devices", names.size()));
  return PutOutput("", text);
}

Status CdiTransformRoot(const CliCall& call) {
  TRY_ASSIGN(const FlagWords flags,
             FlagWords::Parse(call.words,
                              {{{"from"}}, {{"to"}}, {{"input"}}, {{"output"}}, {{"relative-to"}}},
                              call.environment));
  const std::string relative = flags.Text("relative-to", "host");
  if (relative != "host" && relative != "container") {
    return Fail(ErrorKind::kInvalid,
                format("read --relative-to {}: it is not host or container", relative));
  }
  const std::string input = flags.Text("input", "-");
  TRY_ASSIGN(const std::string text,
             input == "-" ? ReadDescriptor(STDIN_FILENO, "standard input") : ReadFile(input));
  TRY_ASSIGN(CdiSpec spec, container::ParseCdi(text));
  TransformRoot(flags.Text("from", "/"), flags.Text("to", "/"), relative == "container", spec);
  const std::string output = flags.Text("output");
  TRY_ASSIGN(const std::string form,
             FormatOf(IsPrinted(output) && Trim(text).starts_with('{') ? "json" : "", output));
  return PutSpec(spec, form, WithExtension(output, form));
}

}  // namespace gantry::container_runtime
