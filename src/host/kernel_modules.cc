// SPDX-License-Identifier: Apache-2.0
// Which kernel modules are loaded, and in which version is NVIDIA's? Read from procfs, which sends
// no events: a caller that needs changes reads again.
#include "host/kernel_modules.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "host/files.h"

namespace gantry::host {
namespace {

constexpr int kLastMajor = 4095;  // 12 bits (linux/kdev_t.h, MINORBITS)

std::vector<std::string> Words(std::string_view line) {
  std::vector<std::string> words;
  for (std::string& word : Split(line, ' ')) {
    if (!word.empty()) {
      words.push_back(std::move(word));
    }
  }
  return words;
}

// "535.247.01", "550.54.15": digits with at least one dot between them.
bool IsVersion(std::string_view word) {
  return word.find('.') != std::string_view::npos &&
         std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) || c == '.'; }) &&
         std::isdigit(static_cast<unsigned char>(word.front())) != 0;
}

}  // namespace

std::vector<KernelModule> ParseModules(std::string_view text) {
  std::vector<KernelModule> modules;
  for (const std::string& line : Split(text, '\n')) {
    const std::vector<std::string> words = Words(line);
    if (words.size() < 5) {
      continue;
    }
    const Result<long long> users = ParseInt(words[2]);
    modules.push_back({.name = words[0],
                       .users = users ? static_cast<int>(*users) : 0,
                       .live = words[4] == "Live"});
  }
  return modules;
}

Result<std::vector<KernelModule>> LoadedModules(const std::string& proc) {
  TRY_ASSIGN(const std::string text, ReadFile(JoinPath(proc, "modules")));
  return ParseModules(text);
}

std::string ParseDriverVersion(std::string_view text) {
  for (const std::string& line : Split(text, '\n')) {
    if (!line.starts_with("NVRM version:")) {
      continue;
    }
    for (std::string& word : Words(line)) {
      if (IsVersion(word)) {
        return std::move(word);
      }
    }
  }
  return "";
}

std::optional<int> ParseGpuMinor(std::string_view text) {
  std::optional<int> minor;
  for (const std::string& line : Split(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) {
      continue;
    }
    const std::string_view name = Trim(std::string_view(line).substr(0, colon));
    const std::string_view value = Trim(std::string_view(line).substr(colon + 1));
    if (name == "GPU Excluded" && value == "Yes") {
      return std::nullopt;
    }
    if (const Result<long long> number = ParseInt(value);
        name == "Device Minor" && number && *number >= 0 && *number < 256) {
      minor = static_cast<int>(*number);
    }
  }
  return minor;
}

std::vector<int> DrivenGpus(const std::string& proc) {
  const std::string folder = JoinPath(proc, "driver/nvidia/gpus");
  std::vector<int> minors;
  for (const std::string& gpu : ListDirectory(folder).value_or(std::vector<std::string>())) {
    const std::string path = JoinPath(JoinPath(folder, gpu), "information");
    if (const std::optional<int> minor = ParseGpuMinor(ReadFile(path).value_or(""))) {
      minors.push_back(*minor);
    }
  }
  std::ranges::sort(minors);
  return minors;
}

int CharacterMajor(std::string_view proc_devices, std::string_view driver) {
  bool character = false;
  for (const std::string& line : Split(proc_devices, '\n')) {
    if (line.ends_with("devices:")) {
      character = line.starts_with("Character");
      continue;
    }
    const std::vector<std::string> words = Words(line);
    if (character && words.size() == 2 && words[1] == driver) {
      const Result<long long> major = ParseInt(words[0]);
      return major && *major >= 0 && *major <= kLastMajor ? static_cast<int>(*major) : -1;
    }
  }
  return -1;
}

}  // namespace gantry::host
