// SPDX-License-Identifier: Apache-2.0
// Where config.toml lies. NVIDIA's installer passes the path by an environment variable that
// wrapper scripts set; here the program looks beside itself, which costs no shell at every
// container start.
#include "operands/container_runtime/config_place.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <vector>

#include "base/paths.h"

namespace gantry::container_runtime {
namespace {

constexpr char kConfigBelow[] = "nvidia-container-runtime/config.toml";

std::string OwnPath() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  return length <= 0 ? "/" : std::string(path.data(), static_cast<size_t>(length));
}

}  // namespace

std::string OwnFolder() { return ParentOf(OwnPath()); }

std::string HookProgram() {
  const std::string beside = JoinPath(OwnFolder(), "nvidia-cdi-hook");
  return ::access(beside.c_str(), X_OK) == 0 ? beside : OwnPath();
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
