// SPDX-License-Identifier: Apache-2.0
// How does nvidia-container-runtime change a container's configuration before the low-level runtime
// reads it? It adds devices, their rules and mounts to the configuration: systemd drops device
// rules that are not in it when it reloads its units.
#include "operands/container_runtime/inject.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"
#include "container/cdi_registry.h"
#include "container/csv_cdi.h"
#include "container/oci.h"
#include "container/special_cdi.h"
#include "gpu/proc_gpus.h"
#include "operands/container_runtime/device_edits.h"
#include "operands/container_runtime/device_requests.h"
#include "operands/container_runtime/requirements.h"
#include "policy/names.h"

namespace gantry::container_runtime {
namespace {

using container::CdiEdits;
using container::CdiSpec;
using container::NodeInventory;

Result<container::DeviceNumbers> LookUpDevice(const std::string& host_path) {
  struct stat info{};
  if (::stat(host_path.c_str(), &info) != 0) {
    return FailErrno("find device node " + host_path, errno);
  }
  if (!S_ISCHR(info.st_mode) && !S_ISBLK(info.st_mode) && !S_ISFIFO(info.st_mode)) {
    return Fail(ErrorKind::kInvalid, format("find device node {}: it is no device", host_path));
  }
  container::DeviceNumbers numbers;
  numbers.type = S_ISBLK(info.st_mode) ? 'b' : S_ISFIFO(info.st_mode) ? 'p' : 'c';
  numbers.major = major(info.st_rdev);
  numbers.minor = minor(info.st_rdev);
  numbers.mode = info.st_mode & 0777;
  numbers.uid = info.st_uid;
  numbers.gid = info.st_gid;
  return numbers;
}

// Replaces the old file by the new one. By RENAME_EXCHANGE, because ext4 flushes a file's blocks if
// it is renamed over another: half a millisecond at every container start.
bool Exchange(const std::string& made, const std::string& path) {
  return ::syscall(SYS_renameat2, AT_FDCWD, made.c_str(), AT_FDCWD, path.c_str(),
                   RENAME_EXCHANGE) == 0 ||
         ::rename(made.c_str(), path.c_str()) == 0;
}

// In one step, so that a runtime never reads an incomplete configuration.
Status ReplaceConfig(const std::string& path, const std::string& content) {
  const std::string temporary = path + ".nvidia";
  const Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  struct stat before{};
  const bool good = fd.valid() && ::stat(path.c_str(), &before) == 0 &&
                    ::fchmod(fd.get(), before.st_mode & 07777) == 0 &&
                    ::fchown(fd.get(), before.st_uid, before.st_gid) == 0;
  Status written =
      good ? WriteDescriptor(fd.get(), content, path) : FailErrno("write " + path, errno);
  if (written.has_value() && !Exchange(temporary, path)) {
    written = FailErrno("write " + path, errno);
  }
  ::unlink(temporary.c_str());
  return written;
}

bool IsThere(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool IsTegra(const NodePlaces& places) {
  return IsThere(JoinPath(places.root, container::kTegraRelease));
}

// A driver container has its device nodes in its own /dev; a driver of the host has them in the
// host's.
container::DriverPlace PlaceOf(const RuntimeConfig& settings, const NodePlaces& places) {
  container::DriverPlace place;
  place.every_library =
      std::ranges::find(settings.jit_features, "enable-explicit-driver-libraries") !=
      settings.jit_features.end();
  place.host_root = settings.driver_root.empty() ? "/" : settings.driver_root;
  place.root = JoinPath(places.root, place.host_root);
  const bool own_nodes = IsThere(JoinPath(place.root, "dev/nvidiactl"));
  place.host_dev_root = own_nodes ? place.host_root : "/";
  place.dev_root = own_nodes ? place.root : places.root;
  place.sys_root = places.root;
  place.run_root = places.root;
  place.version = gpu::LoadedDriverVersion(places.root);
  for (std::string* root : {&place.root, &place.dev_root}) {
    *root = container::WithoutSlashes(std::move(*root));
  }
  return place;
}

// The toolkit's inventory, if it exists and is of the loaded driver.
std::optional<NodeInventory> KeptInventory(const NodePlaces& places) {
  const auto text = ReadFile(places.inventory);
  auto kept = text ? container::ParseInventory(*text) : std::unexpected(text.error());
  const std::string loaded = gpu::LoadedDriverVersion(places.root);
  const bool same = kept && (loaded.empty() || loaded == kept->files.version);
  return same ? std::optional<NodeInventory>(*std::move(kept)) : std::nullopt;
}

// Without a visible procfs, each "/dev/nvidia<minor>" is a GPU.
std::vector<container::CdiGpu> GpusFromNodes(const std::vector<std::string>& nodes) {
  constexpr std::string_view kStem = "/dev/nvidia";
  std::vector<container::CdiGpu> gpus;
  for (const std::string& node : nodes) {
    const auto minor = ParseInt(node.starts_with(kStem) ? node.substr(kStem.size()) : "");
    if (minor && *minor >= 0) {
      gpus.push_back({"", 0, static_cast<int>(*minor), "", {}});
    }
  }
  std::ranges::sort(gpus, {}, &container::CdiGpu::minor);
  for (size_t i = 0; i < gpus.size(); ++i) {
    gpus[i].index = static_cast<int>(i);
  }
  return gpus;
}

// Converts one container's requests to its edits.
class Injection {
 public:
  Injection(const RuntimeConfig& settings, const NodePlaces& places, const Json& config,
            DeviceRequests requests, std::vector<std::string>& warnings)
      : settings_(settings),
        places_(places),
        oci_(container::ReadOciRequest(config)),
        requests_(std::move(requests)),
        warnings_(warnings) {}

  Result<CdiEdits> Edits() {
    TRY_ASSIGN(const Mode mode, ResolveMode(settings_, requests_, IsTegra(places_)));
    if (std::ranges::any_of(requests_.devices,
                            [this](const DeviceRequest& each) { return OfNvidia(each); })) {
      TRY_ASSIGN(capabilities_, RequestedCapabilities(oci_, settings_, mode));
      TRY(CheckImage());
    }
    // Device names of documents on disk are valid in both modes; other names are of the document
    // that jit-cdi makes.
    const bool named = mode == Mode::kJitCdi && !requests_.devices.empty() &&
                       std::ranges::none_of(requests_.devices, [](const DeviceRequest& each) {
                         return each.kind.empty() || each.kind == kRuntimeKind;
                       });
    TRY_ASSIGN(CdiEdits edits, mode == Mode::kCdi || named ? FromDocuments()
                               : mode == Mode::kCsv        ? FromLists()
                                                           : FromInventory());
    AddExtras(edits);
    return edits;
  }

 private:
  // An image's capabilities and requirements only apply to NVIDIA's driver.
  [[nodiscard]] bool OfNvidia(const DeviceRequest& request) const {
    return IsOfNvidia(request, settings_.default_kind);
  }

  Status CheckImage() {
    const std::vector<Requirement> requirements =
        settings_.disable_require ? std::vector<Requirement>{} : RequirementsOf(oci_.environment);
    if (requirements.empty()) {
      return {};
    }
    const auto inventory = Inventory();
    if (!inventory) {
      warnings_.push_back("requirements of the image are not checked: " +
                          inventory.error().message);
      return {};
    }
    return CheckRequirements(requirements, FactsOf(**inventory, requests_.devices));
  }

  Result<NodeInventory*> Inventory() {
    if (!inventory_) {
      inventory_ = FindInventory(settings_, places_);
    }
    if (!*inventory_) {
      return std::unexpected(inventory_->error());
    }
    return &**inventory_;
  }

  Result<CdiEdits> FromInventory() {
    TRY_ASSIGN(NodeInventory* const inventory, Inventory());
    LeaveOutWhatIsGone(*inventory);
    channels_needed_ = true;
    TRY_ASSIGN(CdiEdits edits,
               EditsFrom(RuntimeSpec(*inventory, requests_.devices, settings_, places_.hook),
                         requests_.devices));
    container::KeepCapabilities(capabilities_, edits);
    return edits;
  }

  // Optional files of an inventory may have been removed since: a socket with its daemon, a node
  // with its module. Then a container starts without them.
  void LeaveOutWhatIsGone(NodeInventory& inventory) {
    const auto gone = [&](const std::string& path) {
      if (!IsThere(path)) {
        warnings_.push_back(format("{} is not given: the node no longer has it", path));
        return true;
      }
      return false;
    };
    const auto no_node = [&](const std::string& path) {
      return gone(JoinPath(inventory.driver.host_dev_root, path));
    };
    std::erase_if(inventory.files.control_nodes, no_node);
    for (container::CdiGpu& gpu : inventory.gpus) {
      std::erase_if(gpu.drm_nodes, no_node);
    }
    std::erase_if(inventory.files.sockets, [&](const container::DriverFile& socket) {
      return gone(JoinPath(places_.root, socket.real));
    });
  }

  Result<CdiEdits> FromDocuments() {
    const bool runtime_kind = std::ranges::any_of(
        requests_.devices, [](const DeviceRequest& each) { return each.kind == kRuntimeKind; });
    if (runtime_kind) {
      return FromInventory();
    }
    std::vector<std::string> kinds = {settings_.default_kind, names::kDevicePluginCdiKind};
    const std::vector<std::string> unnamed = kinds;
    for (const DeviceRequest& request : requests_.devices) {
      if (!request.kind.empty()) {
        kinds.push_back(request.kind);
      }
    }
    const auto registry = container::LoadCdi(settings_.spec_dirs, kinds, warnings_);
    CdiEdits edits;
    for (const DeviceRequest& request : requests_.devices) {
      const std::vector<std::string> where =
          request.kind.empty() ? unnamed : std::vector<std::string>{request.kind};
      TRY_ASSIGN(CdiEdits found, container::ResolveDevice(registry, where, request.device));
      if (OfNvidia(request)) {
        container::KeepCapabilities(capabilities_, found);
      }
      container::AppendEdits(found, edits);
    }
    return edits;
  }

  Result<CdiEdits> FromLists() {
    container::CsvInput input;
    input.kind = kRuntimeKind;
    input.hook = places_.hook;
    input.compat_folder = settings_.csv_compat_folder;
    input.real = [this](const std::string& path) {
      const auto real = ResolveInRoot(places_.root, path);
      return real && IsThere(*real) ? WithoutRoot(places_.root, *real).value_or("") : "";
    };
    input.target = [this](const std::string& path) {
      char target[4096];
      const ssize_t length =
          ::readlink(JoinPath(places_.root, path).c_str(), &target[0], sizeof(target));
      return length > 0 ? std::string(&target[0], static_cast<size_t>(length)) : "";
    };
    const bool every =
        container::OciEnvironment(oci_, "NVIDIA_REQUIRE_JETPACK") == "csv-mounts=all";
    const std::string folder = JoinPath(places_.root, settings_.csv_folder);
    for (const std::string& name : ListDirectory(folder).value_or(std::vector<std::string>{})) {
      const bool basic = name == "l4t.csv" || name == "drivers.csv" || name == "devices.csv";
      if (!name.ends_with(".csv") || (!basic && !every)) {
        continue;
      }
      const auto lines = container::ParseCsv(ReadFile(JoinPath(folder, name)).value_or(""));
      if (!lines) {
        return std::unexpected(lines.error().In(JoinPath(settings_.csv_folder, name)));
      }
      input.lines.insert(input.lines.end(), lines->begin(), lines->end());
    }
    if (input.lines.empty()) {
      return Fail(ErrorKind::kNotFound,
                  format("find the driver: no mount list in {}", settings_.csv_folder));
    }
    if (IsTegra(places_)) {
      input.lines.push_back({container::CsvLine::Kind::kFolder, container::kTegraRelease});
    }
    CdiEdits edits = container::CsvCdi(input).edits;
    container::KeepCapabilities(capabilities_, edits);
    return edits;
  }

  // A container's requests beside GPUs. If the node lacks them, the container still starts: images
  // request optional things.
  void AddExtras(CdiEdits& edits) {
    const container::DriverPlace place = PlaceOf(settings_, places_);
    for (const std::string& feature : requests_.features) {
      const auto spec = container::SpecialCdi(feature, kRuntimeKind, place, places_.hook);
      if (!spec) {
        warnings_.push_back(
            format("{} is asked for and not given: {}", feature, spec.error().message));
        continue;
      }
      container::AppendEdits(spec->devices.front().edits, edits);
    }
    const auto add = [&](const std::string& what, const std::string& path, bool needed) {
      if (needed || IsThere(JoinPath(place.dev_root, path))) {
        edits.device_nodes.push_back({path, HostNode(place, path)});
      } else {
        warnings_.push_back(
            format("{} is asked for and not given: the node has no {}", what, path));
      }
    };
    // NVIDIA's runtime also fails without a channel if it makes the document itself.
    for (const std::string& channel : requests_.imex_channels) {
      add("IMEX channel " + channel, "/dev/nvidia-caps-imex-channels/channel" + channel,
          channels_needed_);
    }
    // A node without MIG capable GPUs has none of these; images request them on every node.
    for (const std::string& right : requests_.mig_nodes) {
      add("the right to " + right + " MIG",
          format("/dev/nvidia-caps/nvidia-cap{}", container::MigRightMinor(places_.root, right)),
          false);
    }
  }

  static std::string HostNode(const container::DriverPlace& place, const std::string& path) {
    const std::string host_path = JoinPath(place.host_dev_root, path);
    return host_path == path ? "" : host_path;
  }

  const RuntimeConfig& settings_;
  const NodePlaces& places_;
  const container::OciRequest oci_;
  const DeviceRequests requests_;
  std::vector<std::string>& warnings_;
  container::Capabilities capabilities_;
  std::optional<Result<NodeInventory>> inventory_;
  bool channels_needed_ = false;  // in modes cdi and csv NVIDIA's runtime ignores them
};

}  // namespace

Result<NodeInventory> LookAtNode(const container::DriverPlace& place, const NodePlaces& places) {
  NodeInventory inventory;
  inventory.driver = place;
  TRY_ASSIGN(inventory.files, container::FindDriverFiles(place));
  inventory.driver.version = inventory.files.version;
  if (auto kept = KeptInventory(places); kept && kept->files.version == inventory.files.version) {
    inventory.driver.cuda_version = kept->driver.cuda_version;
    inventory.gpus = std::move(kept->gpus);
    inventory.kinds = std::move(kept->kinds);
    return inventory;
  }
  inventory.gpus = gpu::GpusForContainersFromProc(places.root);
  if (inventory.gpus.empty() && gpu::GpusFromProc(places.root).empty()) {
    inventory.gpus = GpusFromNodes(inventory.files.all_nodes);
  }
  for (container::CdiGpu& gpu : inventory.gpus) {
    gpu.drm_nodes = container::DrmNodes(place, gpu.pci_bus_id);
  }
  inventory.kinds.resize(inventory.gpus.size());
  return inventory;
}

Result<NodeInventory> FindInventory(const RuntimeConfig& settings, const NodePlaces& places) {
  if (auto kept = KeptInventory(places)) {
    return *std::move(kept);
  }
  return LookAtNode(PlaceOf(settings, places), places);
}

Status InjectDevices(const std::string& bundle, const RuntimeConfig& settings,
                     const NodePlaces& places, std::vector<std::string>& warnings) {
  const std::string path = JoinPath(bundle.empty() ? "." : bundle, "config.json");
  TRY_ASSIGN(const std::string text, ReadFile(path));
  TRY_ASSIGN(Json config, ParseJson(text));
  TRY_ASSIGN(DeviceRequests requests, RequestedDevices(config, settings));
  if (!requests.refused.empty()) {
    warnings.push_back(requests.refused);
  }
  if (requests.devices.empty()) {
    return {};
  }
  TRY_ASSIGN(const CdiEdits edits,
             Injection(settings, places, config, std::move(requests), warnings).Edits());
  container::RemoveNvidiaHook(config);
  TRY(container::ApplyEdits(edits, LookUpDevice, config));
  return ReplaceConfig(path, config.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace gantry::container_runtime
