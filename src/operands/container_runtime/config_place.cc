// SPDX-License-Identifier: Apache-2.0
// Where is config.toml? NVIDIA's installer passes the path in an environment variable that wrapper
// scripts set; here the program searches beside itself, which needs no shell at container starts.
#include "operands/container_runtime/config_place.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <iterator>
#include <vector>

#include "base/paths.h"
#include "base/text.h"
#include "container/hook_program.h"

namespace gantry::container_runtime {
namespace {

constexpr char kConfigBelow[] = "nvidia-container-runtime/config.toml";

// The running program under another name: then its file need not be read.
bool IsThisProgram(const std::string& path) {
  struct stat own{};
  struct stat other{};
  return ::stat("/proc/self/exe", &own) == 0 && ::stat(path.c_str(), &other) == 0 &&
         own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

}  // namespace

std::string OwnFolder() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  return length <= 0 ? "/" : ParentOf(std::string(path.data(), static_cast<size_t>(length)));
}

container::HookProgram HookProgramAt(const std::string& path) {
  return {path, IsThisProgram(path) ||
                    container::MakerOfHook("/", path) == container::HookMaker::kGantry};
}

container::HookProgram FindHookProgram() {
  std::vector<std::string> folders = {OwnFolder()};
  if (const char* path = std::getenv("PATH"); path != nullptr) {
    std::ranges::copy(Split(path, ':'), std::back_inserter(folders));
  }
  for (const std::string& folder : folders) {
    const std::string program = JoinPath(folder, "nvidia-cdi-hook");
    // Other programs read the document: a path relative to the working folder would be wrong there.
    if (program.starts_with('/') && ::access(program.c_str(), X_OK) == 0) {
      return HookProgramAt(program);
    }
  }
  return {"/usr/bin/nvidia-cdi-hook"};
}

std::string DefaultConfigFile() { return JoinPath("/etc", kConfigBelow); }

std::string FindConfigFile() {
  if (const char* path = std::getenv("NVIDIA_CTK_CONFIG_FILE_PATH");
      path != nullptr && *path != '\0') {
    return path;
  }
  std::vector<std::string> places;
  places.push_back(JoinPath(OwnFolder(), ".config/" + std::string(kConfigBelow)));
  if (const char* folder = std::getenv("XDG_CONFIG_HOME"); folder != nullptr) {
    places.push_back(JoinPath(folder, kConfigBelow));
  }
  places.push_back(DefaultConfigFile());
  for (const std::string& place : places) {
    if (::access(place.c_str(), F_OK) == 0) {
      return place;
    }
  }
  return "";
}

Result<RuntimeConfig> LoadConfig() {
  const std::string path = FindConfigFile();
  if (path.empty()) {
    return RuntimeConfig{};
  }
  const auto text = ReadFile(path);
  if (!text && text.error().kind != ErrorKind::kNotFound) {
    return std::unexpected(text.error());
  }
  return text ? ParseRuntimeConfig(*text) : RuntimeConfig{};
}

}  // namespace gantry::container_runtime
