// SPDX-License-Identifier: Apache-2.0
// What does the runtime of runtime class `nvidia` do? It is a thin layer above runc. It changes
// only containers with a request by environment variable, annotation or mount; containerd itself
// adds devices that a plugin allocated, by CDI.
#include "operands/container_runtime/runtime.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"
#include "operands/container_runtime/config_place.h"
#include "operands/container_runtime/device_requests.h"
#include "operands/container_runtime/inject.h"

namespace gantry::container_runtime {
namespace {

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

// Replaces this process; returns only after an error.
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

constexpr std::array<std::string_view, 4> kLevels = {"debug", "info", "warning", "error"};

size_t Rank(std::string_view level) {
  const auto found = std::ranges::find(kLevels, level == "warn" ? "warning" : level);
  return found == kLevels.end() ? 1 : static_cast<size_t>(found - kLevels.begin());
}

// The outputs of a call's log: the file from which the shim reads errors (--log), the one in
// config.toml, and standard error for errors.
class Journal {
 public:
  explicit Journal(const RuntimeCall& call) : call_(call) {}

  void Use(const RuntimeConfig& settings) {
    debug_file_ = settings.debug == "/dev/null" ? "" : settings.debug;
    least_ = call_.debug ? 0 : Rank(settings.log_level);
  }

  void Say(std::string_view level, const std::string& message) const {
    const size_t rank = Rank(level);
    if (rank >= Rank("warning")) {
      std::fprintf(stderr, "nvidia-container-runtime: %s\n", message.c_str());
      Append(call_.log_file, call_.json_log, level, message);
    }
    if (rank >= least_) {
      Append(debug_file_, true, level, message);
    }
  }

 private:
  static void Append(const std::string& path, bool json, std::string_view level,
                     const std::string& message) {
    FILE* file = path.empty() ? nullptr : std::fopen(path.c_str(), "ae");
    if (file == nullptr) {
      return;
    }
    std::array<char, 32> time{};
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    std::strftime(time.data(), time.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    const std::string quoted = Json(message).dump(-1, ' ', false, Json::error_handler_t::replace);
    const std::string line =
        json ? format(R"({{"level":"{}","msg":{},"time":"{}"}})", level, quoted, time.data())
             : format("time=\"{}\" level={} msg={}", time.data(), level, quoted);
    std::fprintf(file, "%s\n", line.c_str());
    std::fclose(file);
  }

  const RuntimeCall& call_;
  std::string debug_file_;
  size_t least_ = 1;
};

}  // namespace

RuntimeCall ReadRuntimeCall(const std::vector<std::string>& words) {
  RuntimeCall call;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string name = word.substr(0, word.find('='));
    const bool bundle = name == "-b" || name == "--bundle" || name == "-bundle";
    const bool log = name == "--log" || name == "-log";
    const bool log_format = name == "--log-format" || name == "-log-format";
    if (!bundle && !log && !log_format) {
      call.create = call.create || word == "create";
      call.debug = call.debug || word == "--debug";
      continue;
    }
    std::string value;
    if (name.size() < word.size()) {
      value = word.substr(name.size() + 1);
    } else if (i + 1 < words.size()) {
      value = words[++i];
    }
    if (log_format) {
      call.json_log = value == "json";
    } else {
      (bundle ? call.bundle : call.log_file) = value;
    }
  }
  return call;
}

int RunContainerRuntime(const std::string& name, const std::vector<std::string>& words) {
  const RuntimeCall call = ReadRuntimeCall(words);
  Journal journal(call);
  const Status done = [&]() -> Status {
    TRY_ASSIGN(RuntimeConfig settings, LoadConfig());
    if (name.ends_with(".cdi") || name.ends_with(".legacy")) {
      settings.mode = name.substr(name.rfind('.') + 1);
    }
    journal.Use(settings);
    if (call.create) {
      NodePlaces places;
      places.hook = FindHookProgram();
      std::vector<std::string> warnings;
      const Status injected = InjectDevices(call.bundle, settings, places, warnings);
      for (const std::string& warning : warnings) {
        journal.Say("warning", warning);
      }
      TRY(injected);
      journal.Say("info", format("bundle {} is ready", call.bundle));
    }
    return BecomeRuntime(settings, words);
  }();
  journal.Say("error", done.error().message);
  return 1;
}

std::string RuntimeVersion() {
  // OCI's runtime specification: the one whose linux.netDevices CDI documents fill in.
  constexpr std::string_view kSpecification = "1.3.0";
  return format("NVIDIA Container Runtime version {}\nspec: {}\n", GANTRY_VERSION, kSpecification);
}

int RunLegacyHook(const std::string& name, const std::vector<std::string>& words) {
  const bool prestart = std::ranges::find(words, "prestart") != words.end();
  if (!prestart) {
    return 0;
  }
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::string flag = words[i].substr(0, equals);
    if (flag == "-config" || flag == "--config") {
      const std::string value = equals != std::string::npos ? words[i].substr(equals + 1)
                                : i + 1 < words.size()      ? words[i + 1]
                                                            : "";
      ::setenv("NVIDIA_CTK_CONFIG_FILE_PATH", value.c_str(), 1);
    }
  }
  const Status done = [&]() -> Status {
    TRY_ASSIGN(const std::string text, ReadDescriptor(STDIN_FILENO, "standard input"));
    TRY_ASSIGN(const Json state, ParseJson(text));
    TRY_ASSIGN(const std::string config_text,
               ReadFile(JoinPath(TextAt(state, "bundle"), "config.json")));
    TRY_ASSIGN(const Json config, ParseJson(config_text));
    TRY_ASSIGN(RuntimeConfig settings, LoadConfig());
    settings.annotation_prefixes.clear();  // this hook must not add the devices that they name
    TRY_ASSIGN(const DeviceRequests requests, RequestedDevices(config, settings));
    if (requests.devices.empty()) {
      return {};
    }
    return Fail(ErrorKind::kUnsupported,
                "add GPUs to a started container: they are added to its configuration instead; use "
                "--runtime=nvidia (runtime class nvidia) or a CDI device");
  }();
  if (!done) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), done.error().message.c_str());
    return 1;
  }
  return 0;
}

}  // namespace gantry::container_runtime
