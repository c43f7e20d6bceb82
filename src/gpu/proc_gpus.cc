// SPDX-License-Identifier: Apache-2.0
// Which GPUs does the kernel module drive? Read from procfs (NVIDIA driver README, chapter "The
// /proc File System Interface").
#include "gpu/proc_gpus.h"

#include <utility>

#include "base/paths.h"
#include "base/text.h"
#include "gpu/products.h"

namespace gantry::gpu {
namespace {

std::vector<ProcGpu> ReadProc(const std::string& root) {
  std::vector<ProcGpu> gpus;
  const std::string folder = JoinPath(root, "proc/driver/nvidia/gpus");
  for (const std::string& name : ListDirectory(folder).value_or(std::vector<std::string>{})) {
    const std::string path = JoinPath(JoinPath(folder, name), "information");
    auto read = ParseGpuInformation(ReadFile(path).value_or(""));
    if (!read) {
      continue;
    }
    container::CdiGpu& gpu = read->gpu;
    gpu.index = static_cast<int>(gpus.size());
    const std::string instances =
        JoinPath(root, format("proc/driver/nvidia/capabilities/gpu{}/mig", gpu.minor));
    for (const std::string& entry : ListDirectory(instances).value_or(std::vector<std::string>{})) {
      gpu.mig_enabled = gpu.mig_enabled || entry.starts_with("gi");
    }
    gpus.push_back(*std::move(read));
  }
  return gpus;
}

}  // namespace

std::optional<ProcGpu> ParseGpuInformation(std::string_view text) {
  ProcGpu read;
  container::CdiGpu& gpu = read.gpu;
  gpu.minor = -1;
  for (const std::string& line : Split(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) {
      continue;
    }
    const std::string_view key = Trim(std::string_view(line).substr(0, colon));
    const std::string_view value = Trim(std::string_view(line).substr(colon + 1));
    if (key == "Model") {
      read.product = value;
    } else if (key == "GPU UUID" && value.find('?') == std::string_view::npos) {
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
  return read;
}

std::vector<container::CdiGpu> GpusFromProc(const std::string& root) {
  std::vector<container::CdiGpu> gpus;
  for (ProcGpu& read : ReadProc(root)) {
    gpus.push_back(std::move(read.gpu));
  }
  return gpus;
}

std::vector<container::CdiGpu> GpusForContainersFromProc(const std::string& root) {
  std::vector<container::CdiGpu> gpus;
  for (ProcGpu& read : ReadProc(root)) {
    if (IsForContainers(read.product)) {
      gpus.push_back(std::move(read.gpu));
    }
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

}  // namespace gantry::gpu
