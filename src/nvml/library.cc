// SPDX-License-Identifier: Apache-2.0
// Which GPUs does this node have, and what are they? From NVML, device by device. Every function is
// looked up by name, because an old driver lacks the newer ones; their values stay empty. A GPU
// without UUID, minor number or PCI address cannot be allocated and counts as failed; everything
// else may be empty.
#include <dlfcn.h>

#include <array>
#include <fstream>
#include <utility>

#include "base/text.h"
#include "nvml/errors.h"
#include "nvml/mig.h"
#include "nvml/nvml.h"
#include "nvml/symbols.h"

namespace gantry::nvml {
namespace {

const char* BrandName(nvmlBrandType_t brand) {
  switch (brand) {
    case NVML_BRAND_QUADRO:
      return "quadro";
    case NVML_BRAND_TESLA:
      return "tesla";
    case NVML_BRAND_NVS:
      return "nvs";
    case NVML_BRAND_GRID:
      return "grid";
    case NVML_BRAND_GEFORCE:
      return "geforce";
    case NVML_BRAND_TITAN:
      return "titan";
    case NVML_BRAND_NVIDIA_VAPPS:
      return "nvidia-vapps";
    case NVML_BRAND_NVIDIA_VPC:
      return "nvidia-vpc";
    case NVML_BRAND_NVIDIA_VCS:
      return "nvidia-vcs";
    case NVML_BRAND_NVIDIA_VWS:
      return "nvidia-vws";
    case NVML_BRAND_NVIDIA_CLOUD_GAMING:
      return "nvidia-cloud-gaming";
    case NVML_BRAND_QUADRO_RTX:
      return "quadro-rtx";
    case NVML_BRAND_NVIDIA_RTX:
      return "nvidia-rtx";
    case NVML_BRAND_NVIDIA:
      return "nvidia";
    case NVML_BRAND_GEFORCE_RTX:
      return "geforce-rtx";
    case NVML_BRAND_TITAN_RTX:
      return "titan-rtx";
    default:
      return "unknown";
  }
}

int NumaNode(const std::filesystem::path& sys, const std::string& pci_bus_id) {
  std::ifstream file(sys / "bus/pci/devices" / pci_bus_id / "numa_node");
  int node = -1;
  return file >> node && node >= 0 ? node : -1;
}

template <typename Info>
std::optional<Fabric> FinishedFabric(const Info& info) {
  constexpr std::array<unsigned char, NVML_GPU_FABRIC_UUID_LEN> kNone{};
  if (info.state != NVML_GPU_FABRIC_STATE_COMPLETED || info.status != NVML_SUCCESS ||
      std::equal(kNone.begin(), kNone.end(), info.clusterUuid)) {
    return std::nullopt;
  }
  return Fabric{FabricUuid(info.clusterUuid), info.cliqueId};
}

std::optional<Fabric> ReadFabric(const Symbols& symbols, nvmlDevice_t handle) {
  nvmlGpuFabricInfoV_t versioned{};
  versioned.version = nvmlGpuFabricInfo_v2;
  if (Call(symbols.nvmlDeviceGetGpuFabricInfoV, handle, &versioned) == NVML_SUCCESS) {
    return FinishedFabric(versioned);
  }
  nvmlGpuFabricInfo_t first{};
  if (Call(symbols.nvmlDeviceGetGpuFabricInfo, handle, &first) == NVML_SUCCESS) {
    return FinishedFabric(first);
  }
  return std::nullopt;
}

void ReadIdentity(const Symbols& symbols, nvmlDevice_t handle, Device& device) {
  std::array<char, NVML_DEVICE_NAME_V2_BUFFER_SIZE> name{};
  if (Call(symbols.nvmlDeviceGetName, handle, name.data(), static_cast<unsigned>(name.size())) ==
      NVML_SUCCESS) {
    device.name = name.data();
  }
  nvmlBrandType_t brand = NVML_BRAND_UNKNOWN;
  Call(symbols.nvmlDeviceGetBrand, handle, &brand);
  device.brand = BrandName(brand);
}

std::string AddressingMode(const Symbols& symbols, nvmlDevice_t handle) {
  constexpr std::array kNames = {"None", "HMM", "ATS"};
  GantryNvmlAddressingMode mode{kAddressingModeVersion, 0};
  return Call(symbols.nvmlDeviceGetAddressingMode, handle, &mode) == NVML_SUCCESS &&
                 mode.value < kNames.size()
             ? kNames[mode.value]
             : "";
}

void ReadAbilities(const Symbols& symbols, nvmlDevice_t handle, Device& device) {
  nvmlMemory_t memory{};
  if (Call(symbols.nvmlDeviceGetMemoryInfo, handle, &memory) == NVML_SUCCESS) {
    device.memory_bytes = memory.total;
  }
  int major = 0;
  int minor = 0;
  if (Call(symbols.nvmlDeviceGetCudaComputeCapability, handle, &major, &minor) == NVML_SUCCESS) {
    device.compute_major = major;
    device.compute_minor = minor;
  }
  unsigned current = 0;
  unsigned pending = 0;
  if (Call(symbols.nvmlDeviceGetMigMode, handle, &current, &pending) == NVML_SUCCESS) {
    device.mig = current == NVML_DEVICE_MIG_ENABLE ? MigMode::kEnabled : MigMode::kDisabled;
  }
  device.fabric = ReadFabric(symbols, handle);
  device.coherent = IsCoherent(symbols, handle);
  device.addressing_mode = AddressingMode(symbols, handle);
}

// Fills device; the error is that of the first failed call that identifies the GPU.
Status ReadDevice(const Symbols& symbols, const std::filesystem::path& sys, Device& device) {
  const std::string who = format("GPU {}", device.index);
  nvmlDevice_t handle = nullptr;
  nvmlReturn_t code = Call(symbols.nvmlDeviceGetHandleByIndex_v2, device.index, &handle);
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceGetHandleByIndex", who, code);
  }
  // The address first: it can be read even if the GPU itself does not answer.
  nvmlPciInfo_t pci{};
  const nvmlReturn_t pci_code = Call(symbols.nvmlDeviceGetPciInfo_v3, handle, &pci);
  if (pci_code == NVML_SUCCESS) {
    device.pci_bus_id = SysfsBusId(pci);
    device.numa_node = NumaNode(sys, device.pci_bus_id);
  }
  std::array<char, NVML_DEVICE_UUID_V2_BUFFER_SIZE> uuid{};
  code = Call(symbols.nvmlDeviceGetUUID, handle, uuid.data(), static_cast<unsigned>(uuid.size()));
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceGetUUID", who, code);
  }
  device.uuid = uuid.data();
  if (pci_code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceGetPciInfo", who, pci_code);
  }
  code = Call(symbols.nvmlDeviceGetMinorNumber, handle, &device.minor);
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceGetMinorNumber", who, code);
  }
  ReadIdentity(symbols, handle, device);
  ReadAbilities(symbols, handle, device);
  return device.mig == MigMode::kEnabled ? ReadMigDevices(symbols, handle, device) : Status{};
}

// A GPU may answer every call and still need a reset before it can be used; drivers since 565
// report it.
Status CheckRecoveryAction(const Symbols& symbols, nvmlDevice_t handle, const std::string& uuid) {
  nvmlFieldValue_t field{};
  field.fieldId = NVML_FI_DEV_GET_GPU_RECOVERY_ACTION;
  if (Call(symbols.nvmlDeviceGetFieldValues, handle, 1, &field) != NVML_SUCCESS ||
      field.nvmlReturn != NVML_SUCCESS) {
    return {};
  }
  const char* wanted = nullptr;
  switch (field.value.uiVal) {
    case NVML_GPU_RECOVERY_ACTION_GPU_RESET:
    case NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET:
      wanted = "a reset of the GPU";
      break;
    case NVML_GPU_RECOVERY_ACTION_NODE_REBOOT:
      wanted = "a reboot of the node";
      break;
    default:
      return {};
  }
  return Fail(ErrorKind::kUnavailable, format("ask GPU {}: it needs {}", uuid, wanted));
}

Result<std::string> DriverVersionOf(const Symbols& symbols) {
  std::array<char, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE> text{};
  const nvmlReturn_t code =
      Call(symbols.nvmlSystemGetDriverVersion, text.data(), static_cast<unsigned>(text.size()));
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlSystemGetDriverVersion", "", code);
  }
  return std::string(text.data());
}

}  // namespace

uint64_t CallsMade() { return CallCounter().load(std::memory_order_relaxed); }

std::optional<bool> IsCoherent(const Symbols& symbols, nvmlDevice_t handle) {
  GantryNvmlAddressingMode mode{kAddressingModeVersion, 0};
  switch (Call(symbols.nvmlDeviceGetAddressingMode, handle, &mode)) {
    case NVML_SUCCESS:
      return mode.value == kAddressingModeAts;
    case NVML_ERROR_NOT_SUPPORTED:
    case NVML_ERROR_FUNCTION_NOT_FOUND:
      return false;
    default:
      return std::nullopt;
  }
}

std::string FabricUuid(const unsigned char* bytes) {
  std::string text;
  for (int i = 0; i < NVML_GPU_FABRIC_UUID_LEN; ++i) {
    text += format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
  }
  return text;
}

std::string SysfsBusId(const nvmlPciInfo_t& pci) {
  return format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
}

Library::Library(Options options, std::unique_ptr<Symbols> symbols)
    : options_(std::move(options)), symbols_(std::move(symbols)) {}

Result<std::unique_ptr<Library>> Library::Open(const Options& options) {
  void* handle = dlopen(options.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return Fail(ErrorKind::kNotFound, format("open {}: {}", options.library.string(),
                                             reason != nullptr ? reason : "unknown reason"));
  }
  auto symbols = std::make_unique<Symbols>();
  symbols->library = handle;
#define GANTRY_NVML_LOOK_UP(name) \
  symbols->nvml##name = reinterpret_cast<decltype(&::nvml##name)>(dlsym(handle, "nvml" #name));
  GANTRY_NVML_FUNCTIONS(GANTRY_NVML_LOOK_UP)
#undef GANTRY_NVML_LOOK_UP
  const nvmlReturn_t code = Call(symbols->nvmlInit_v2);
  if (code != NVML_SUCCESS) {
    dlclose(handle);
    return FailNvml("nvmlInit", "", code);
  }
  symbols->driver_version = DriverVersionOf(*symbols).value_or("");
  return std::unique_ptr<Library>(new Library(options, std::move(symbols)));
}

Library::~Library() {
  Call(symbols_->nvmlShutdown);
  dlclose(symbols_->library);
}

Result<std::string> Library::DriverVersion() const { return DriverVersionOf(*symbols_); }

Result<int> Library::CudaVersion() const {
  int version = 0;
  nvmlReturn_t code = Call(symbols_->nvmlSystemGetCudaDriverVersion_v2, &version);
  if (code != NVML_SUCCESS) {
    code = Call(symbols_->nvmlSystemGetCudaDriverVersion, &version);
  }
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlSystemGetCudaDriverVersion", "", code);
  }
  return version;
}

Result<unsigned> Library::DeviceCount() const {
  unsigned count = 0;
  const nvmlReturn_t code = Call(symbols_->nvmlDeviceGetCount_v2, &count);
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceGetCount", "", code);
  }
  return count;
}

Result<Devices> Library::Enumerate() const {
  TRY_ASSIGN(const unsigned count, DeviceCount());
  Devices devices;
  for (unsigned index = 0; index < count; ++index) {
    Device device;
    device.index = index;
    if (Status read = ReadDevice(*symbols_, options_.sys, device); read.has_value()) {
      devices.found.push_back(std::move(device));
    } else {
      devices.failed.push_back({.index = index,
                                .uuid = std::move(device.uuid),
                                .pci_bus_id = std::move(device.pci_bus_id),
                                .error = std::move(read).error()});
    }
  }
  return devices;
}

Status Library::Alive(const std::string& uuid) const {
  TRY_ASSIGN(const nvmlDevice_t handle, HandleOf(*symbols_, uuid));
  nvmlMemory_t memory{};
  nvmlReturn_t code = Call(symbols_->nvmlDeviceGetMemoryInfo, handle, &memory);
  if (code != NVML_SUCCESS && KindOf(code) != ErrorKind::kUnsupported) {
    return FailNvml("nvmlDeviceGetMemoryInfo", uuid, code);
  }
  unsigned celsius = 0;
  code = Call(symbols_->nvmlDeviceGetTemperature, handle, NVML_TEMPERATURE_GPU, &celsius);
  if (code != NVML_SUCCESS && KindOf(code) != ErrorKind::kUnsupported) {
    return FailNvml("nvmlDeviceGetTemperature", uuid, code);
  }
  return CheckRecoveryAction(*symbols_, handle, uuid);
}

Result<ComputeMode> Library::GetComputeMode(const std::string& uuid) const {
  TRY_ASSIGN(const nvmlDevice_t handle, HandleOf(*symbols_, uuid));
  nvmlComputeMode_t mode = NVML_COMPUTEMODE_DEFAULT;
  nvmlReturn_t code = Call(symbols_->nvmlDeviceGetComputeMode, handle, &mode);
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceGetComputeMode", uuid, code);
  }
  return static_cast<ComputeMode>(mode);
}

Status Library::SetComputeMode(const std::string& uuid, ComputeMode mode) const {
  TRY_ASSIGN(const nvmlDevice_t handle, HandleOf(*symbols_, uuid));
  nvmlReturn_t code =
      Call(symbols_->nvmlDeviceSetComputeMode, handle, static_cast<nvmlComputeMode_t>(mode));
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceSetComputeMode", uuid, code);
  }
  return {};
}

}  // namespace gantry::nvml
