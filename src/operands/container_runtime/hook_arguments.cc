// SPDX-License-Identifier: Apache-2.0
// How is the command line of a hook parsed? By hand: a command-line library would take a third of
// the program's start time.
#include "operands/container_runtime/hook_arguments.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/text.h"

namespace gantry::container_runtime {
namespace {

constexpr std::array<std::string_view, 8> kHooks = {"create-container",
                                                    "create-symlinks",
                                                    "update-ldcache",
                                                    "enable-cuda-compat",
                                                    "disable-device-node-modification",
                                                    "update-application-profile",
                                                    "chmod",
                                                    "noop"};

std::vector<std::string> CommaParts(const std::string& value) { return Split(value, ','); }

class Parser {
 public:
  Result<HookRequest> Parse(const std::vector<std::string>& words) {
    size_t at = 0;
    while (at < words.size() && words[at].starts_with("-")) {
      ++at;  // a flag before the hook's name belongs to a later version
    }
    if (at == words.size()) {
      request_.known = false;
      return std::move(request_);
    }
    request_.name = words[at++];
    request_.known = std::ranges::find(kHooks, request_.name) != kHooks.end();
    request_.cuda_compat = request_.name == "enable-cuda-compat";
    request_.disable_device_node_modification = request_.name == "disable-device-node-modification";
    request_.update_application_profile = request_.name == "update-application-profile";
    while (request_.known && at < words.size()) {
      TRY(Flag(words, at));
    }
    if ((request_.name == "chmod" || !request_.paths.empty()) && request_.known && !has_mode_) {
      return Fail(ErrorKind::kInvalid, format("run {}: --mode is missing", request_.name));
    }
    return std::move(request_);
  }

 private:
  // Reads the flag at `at` with its value, and moves on.
  Status Flag(const std::vector<std::string>& words, size_t& at) {
    std::string name = words[at++];
    name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
    if (name == "disable-device-node-modification") {
      request_.disable_device_node_modification = true;
      return {};
    }
    if (name == "update-application-profile") {
      request_.update_application_profile = true;
      return {};
    }
    std::string value;
    if (const size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (at < words.size()) {
      value = words[at++];
    }
    return Take(name, value);
  }

  Status Take(const std::string& name, const std::string& value) {
    if (name == "link" || name == "device-link" || name == "link-if-absent") {
      const size_t middle = value.find("::");
      if (middle == std::string::npos || middle == 0 || middle + 2 == value.size()) {
        return Fail(ErrorKind::kInvalid,
                    format("read --{} {}: it is not <target>::<link>", name, value));
      }
      auto& links = name == "link"          ? request_.links
                    : name == "device-link" ? request_.device_links
                                            : request_.links_if_absent;
      links.push_back({value.substr(0, middle), value.substr(middle + 2)});
    } else if (name == "library" || name == "cuda-library") {
      const size_t middle = value.find('=');
      if (middle == std::string::npos || middle == 0 || middle + 1 == value.size()) {
        return Fail(ErrorKind::kInvalid,
                    format("read --{} {}: it is not <soname>=<path>", name, value));
      }
      (name == "library" ? request_.libraries : request_.cuda_libraries)
          .push_back({value.substr(0, middle), value.substr(middle + 1)});
    } else if (name == "folder") {
      std::ranges::copy(CommaParts(value), std::back_inserter(request_.folders));
    } else if (name == "host-driver-version") {
      request_.cuda_compat = true;
      request_.host_driver_version = value;
    } else if (name == "host-cuda-version") {
      request_.cuda_compat = true;
      request_.host_cuda_version = value;
    } else if (name == "cuda-compat-container-root") {
      request_.compat_folder = value;
    } else if (name == "mode") {
      const char* end = value.data() + value.size();
      const auto read = std::from_chars(value.data(), end, request_.mode, 8);
      if (read.ec != std::errc() || read.ptr != end) {
        return Fail(ErrorKind::kInvalid, format("read --mode {}: it is no octal number", value));
      }
      has_mode_ = true;
    } else if (name == "path") {
      std::ranges::copy(CommaParts(value), std::back_inserter(request_.paths));
    } else if (name == "container-spec") {
      request_.state_file = value;
    } else if (name != "ldconfig-path") {
      request_.known = false;
    }
    return {};
  }

  HookRequest request_;
  bool has_mode_ = false;
};

}  // namespace

Result<HookRequest> ParseHookArguments(const std::vector<std::string>& words) {
  return Parser().Parse(words);
}

bool AskForVersion(const std::vector<std::string>& words) {
  return !words.empty() &&
         (words.front() == "--version" || words.front() == "-v" || words.front() == "-version");
}

}  // namespace gantry::container_runtime
