// SPDX-License-Identifier: Apache-2.0
// Which GPUs does the kernel module drive? Read from procfs (NVIDIA driver README, chapter "The
// /proc File System Interface").
#include "container/proc_gpus.h"

#include "base/paths.h"
#include "base/text.h"

namespace gantry::container {

std::optional<CdiGpu> ParseGpuInformation(std::string_view text) {
  CdiGpu gpu;
  gpu.minor = -1;
  for (const std::string& line : Split(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) {
      continue;
    }
    const std::string_view key = Trim(std::string_view(line).substr(0, colon));
    const std::string_view value = Trim(std::string_view(line).substr(colon + 1));
    if (key == "GPU UUID" && value.find('?') == std::string_view::npos) {
      gpu.uuid = value;
    } else if (key == "Bus Location") {
      gpu.pci_bus_id = Lower(value);
    } else if (key == "Device Minor") {
      gpu.minor = static_cast<int>(ParseInt(value).value_or(-1));
    } else if (key == "GPU Excluded" && value == "Yes") {
      return std::nullopt;
    }
  }
  if (gpu.minor < 0 || gpu.minor > 255) {
    return std::nullopt;
  }
  return gpu;
}

std::vector<CdiGpu> GpusFromProc(const std::string& root) {
  std::vector<CdiGpu> gpus;
  const std::string folder = JoinPath(root, "proc/driver/nvidia/gpus");
  for (const std::string& name : ListDirectory(folder).value_or(std::vector<std::string>{})) {
    const std::string path = JoinPath(JoinPath(folder, name), "information");
    auto gpu = ParseGpuInformation(ReadFile(path).value_or(""));
    if (!gpu) {
      continue;
    }
    gpu->index = static_cast<int>(gpus.size());
    const std::string instances =
        JoinPath(root, format("proc/driver/nvidia/capabilities/gpu{}/mig", gpu->minor));
    for (const std::string& entry : ListDirectory(instances).value_or(std::vector<std::string>{})) {
      gpu->mig_enabled = gpu->mig_enabled || entry.starts_with("gi");
    }
    gpus.push_back(*std::move(gpu));
  }
  return gpus;
}

std::string LoadedDriverVersion(const std::string& root) {
  const auto text = ReadFile(JoinPath(root, "proc/driver/nvidia/version"));
  if (!text) {
    return "";
  }
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.247.01  Tue ..."
  for (const std::string& word : Split(text->substr(0, text->find('\n')), ' ')) {
    const bool version = word.find('.') != std::string::npos &&
                         word.find_first_not_of("0123456789.") == std::string::npos;
    if (version) {
      return word;
    }
  }
  return "";
}

}  // namespace gantry::container
