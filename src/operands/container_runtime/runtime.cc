// SPDX-License-Identifier: Apache-2.0
// The runtime that containerd calls for runtime class `nvidia`: a thin layer above runc. It acts
// only on containers that ask by environment variable, annotation or mount; devices that a plugin
// allocated come by CDI through containerd itself.
#include "operands/container_runtime/runtime.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"
#include "container/cdi_registry.h"
#include "container/oci.h"
#include "operands/container_runtime/device_requests.h"
#include "operands/container_runtime/hooks.h"
#include "policy/names.h"

namespace gantry::container_runtime {
namespace {

constexpr char kConfigBelow[] = "nvidia-container-runtime/config.toml";

std::string OwnFolder() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  return length <= 0 ? "/" : ParentOf({path.data(), static_cast<size_t>(length)});
}

// The first configuration file that is there, in NVIDIA's order, but for the one installed beside
// the program, which NVIDIA's wrapper scripts pass by the environment variable.
Result<RuntimeConfig> LoadConfig() {
  std::vector<std::string> places;
  if (const char* path = std::getenv("NVIDIA_CTK_CONFIG_FILE_PATH"); path != nullptr) {
    places.emplace_back(path);
  }
  places.push_back(JoinPath(OwnFolder(), ".config/" + std::string(kConfigBelow)));
  if (const char* folder = std::getenv("XDG_CONFIG_HOME"); folder != nullptr) {
    places.push_back(JoinPath(folder, kConfigBelow));
  }
  places.push_back(JoinPath("/etc", kConfigBelow));
  for (const std::string& place : places) {
    const auto text = ReadFile(place);
    if (!text && text.error().kind == ErrorKind::kNotFound) {
      continue;
    }
    if (!text) {
      return std::unexpected(text.error());
    }
    return ParseRuntimeConfig(*text);
  }
  return RuntimeConfig{};
}

Result<container::DeviceNumbers> LookUpDevice(const std::string& host_path) {
  struct stat info{};
  if (::stat(host_path.c_str(), &info) != 0) {
    return FailErrno("find device node " + host_path, errno);
  }
  if (!S_ISCHR(info.st_mode) && !S_ISBLK(info.st_mode)) {
    return Fail(ErrorKind::kInvalid, format("find device node {}: it is no device", host_path));
  }
  container::DeviceNumbers numbers;
  numbers.type = S_ISBLK(info.st_mode) ? 'b' : 'c';
  numbers.major = gnu_dev_major(info.st_rdev);
  numbers.minor = gnu_dev_minor(info.st_rdev);
  numbers.mode = info.st_mode & 0777;
  numbers.uid = info.st_uid;
  numbers.gid = info.st_gid;
  return numbers;
}

// In one step, so that a runtime never reads half a configuration.
Status ReplaceConfig(const std::string& path, const std::string& content) {
  const std::string temporary = path + ".nvidia";
  const Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  struct stat before{};
  size_t done = 0;
  bool good = fd.valid() && ::stat(path.c_str(), &before) == 0 &&
              ::fchmod(fd.get(), before.st_mode & 07777) == 0 &&
              ::fchown(fd.get(), before.st_uid, before.st_gid) == 0;
  while (good && done < content.size()) {
    const ssize_t count = ::write(fd.get(), content.data() + done, content.size() - done);
    good = count > 0;
    done += good ? static_cast<size_t>(count) : 0;
  }
  if (!good || ::rename(temporary.c_str(), path.c_str()) != 0) {
    const int reason = errno;
    ::unlink(temporary.c_str());
    return FailErrno("write " + path, reason);
  }
  return {};
}

std::string ToPath(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    return ::access(program.c_str(), X_OK) == 0 ? program : "";
  }
  const char* path = std::getenv("PATH");
  const std::string folders = std::string(path == nullptr ? "" : path) +
                              ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  const std::string self = OwnFolder();
  for (const std::string& folder : Split(folders, ':')) {
    const std::string candidate = JoinPath(folder, program);
    if (!folder.empty() && folder != self && ::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return "";
}

// Replaces this process; returns only with an error.
Status BecomeRuntime(const RuntimeConfig& settings, const std::vector<std::string>& words) {
  for (const std::string& runtime : settings.runtimes) {
    std::string path = ToPath(runtime);
    if (path.empty()) {
      continue;
    }
    std::vector<char*> argv = {path.data()};
    std::vector<std::string> copies = words;
    for (std::string& word : copies) {
      argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    ::execv(path.c_str(), argv.data());
    return FailErrno("start " + path, errno);
  }
  return Fail(ErrorKind::kNotFound, format("find a low-level runtime: none of {} is installed",
                                           Join(settings.runtimes, ", ")));
}

// To standard error, which the shim keeps, and to the log file that it reads errors from.
void Report(const std::string& log_file, const char* level, const std::string& message) {
  std::fprintf(stderr, "nvidia-container-runtime: %s\n", message.c_str());
  if (log_file.empty()) {
    return;
  }
  if (FILE* file = std::fopen(log_file.c_str(), "a"); file != nullptr) {
    const std::string line = Json{{"level", level}, {"msg", message}}.dump() + "\n";
    std::fwrite(line.data(), 1, line.size(), file);
    std::fclose(file);
  }
}

}  // namespace

RuntimeCall ReadRuntimeCall(const std::vector<std::string>& words) {
  RuntimeCall call;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string name = word.substr(0, word.find('='));
    const bool bundle = name == "-b" || name == "--bundle" || name == "-bundle";
    const bool log = name == "--log" || name == "-log";
    if (!bundle && !log) {
      call.create = call.create || word == "create";
      continue;
    }
    std::string value;
    if (name.size() < word.size()) {
      value = word.substr(name.size() + 1);
    } else if (i + 1 < words.size()) {
      value = words[++i];
    }
    (bundle ? call.bundle : call.log_file) = value;
  }
  return call;
}

Status InjectDevices(const std::string& bundle, const RuntimeConfig& settings,
                     std::vector<std::string>& warnings) {
  const std::string path = JoinPath(bundle.empty() ? "." : bundle, "config.json");
  TRY_ASSIGN(const std::string text, ReadFile(path));
  TRY_ASSIGN(Json config, ParseJson(text));
  const DeviceRequests requests = RequestedDevices(config, settings);
  if (!requests.refused.empty()) {
    warnings.push_back(requests.refused);
  }
  if (requests.devices.empty()) {
    return {};
  }
  std::vector<std::string> kinds = {settings.default_kind, names::kDevicePluginCdiKind};
  for (const DeviceRequest& request : requests.devices) {
    if (!request.kind.empty()) {
      kinds.push_back(request.kind);
    }
  }
  const std::vector<container::CdiSpec> specs =
      container::LoadCdi(settings.spec_dirs, kinds, warnings);
  for (const DeviceRequest& request : requests.devices) {
    const std::vector<std::string> where =
        request.kind.empty()
            ? std::vector<std::string>{settings.default_kind, names::kDevicePluginCdiKind}
            : std::vector<std::string>{request.kind};
    TRY_ASSIGN(const container::CdiEdits edits,
               container::ResolveDevice(specs, where, request.device));
    TRY(container::ApplyEdits(edits, LookUpDevice, config));
  }
  return ReplaceConfig(path, config.dump());
}

int RunContainerRuntime(const std::vector<std::string>& words) {
  const RuntimeCall call = ReadRuntimeCall(words);
  const Status done = [&]() -> Status {
    TRY_ASSIGN(const RuntimeConfig settings, LoadConfig());
    if (call.create) {
      std::vector<std::string> warnings;
      const Status injected = InjectDevices(call.bundle, settings, warnings);
      for (const std::string& warning : warnings) {
        Report(call.log_file, "warning", warning);
      }
      TRY(injected);
    }
    return BecomeRuntime(settings, words);
  }();
  Report(call.log_file, "error", done.error().message);
  return 1;
}

int RunLegacyHook(const std::vector<std::string>& words) {
  const bool prestart = std::ranges::find(words, "prestart") != words.end();
  if (!prestart) {
    return 0;
  }
  const Status done = [&]() -> Status {
    TRY_ASSIGN(const std::string text, ReadDescriptor(STDIN_FILENO, "standard input"));
    TRY_ASSIGN(const Json state, ParseJson(text));
    TRY_ASSIGN(const std::string config_text,
               ReadFile(JoinPath(TextAt(state, "bundle"), "config.json")));
    TRY_ASSIGN(const Json config, ParseJson(config_text));
    TRY_ASSIGN(const RuntimeConfig settings, LoadConfig());
    if (RequestedDevices(config, settings).devices.empty()) {
      return {};
    }
    return Fail(ErrorKind::kUnsupported,
                "prestart: GPUs are added by runtime class nvidia or by CDI, not by this hook");
  }();
  if (!done) {
    std::fprintf(stderr, "nvidia-container-runtime-hook: %s\n", done.error().message.c_str());
    return 1;
  }
  return 0;
}

int RunToolkitCli(const std::vector<std::string>& words) {
  if (!words.empty() && words.front() == "hook") {
    return RunCdiHook({words.begin() + 1, words.end()});
  }
  if (words.size() >= 2 && words[0] == "cdi" && words[1] == "list") {
    const RuntimeConfig settings = LoadConfig().value_or(RuntimeConfig{});
    for (const std::string& folder : settings.spec_dirs) {
      for (const std::string& name : ListDirectory(folder).value_or(std::vector<std::string>{})) {
        const auto spec = container::ParseCdi(ReadFile(JoinPath(folder, name)).value_or(""));
        for (const container::CdiDevice& device :
             spec ? spec->devices : std::vector<container::CdiDevice>{}) {
          std::printf("%s=%s\n", spec->kind.c_str(), device.name.c_str());
        }
      }
    }
    return 0;
  }
  std::fprintf(stderr, "usage: nvidia-ctk hook NAME ... | nvidia-ctk cdi list\n");
  return 1;
}

}  // namespace gantry::container_runtime
