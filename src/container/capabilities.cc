// SPDX-License-Identifier: Apache-2.0
// Which driver capabilities does a file of the driver belong to? By its name, as NVIDIA's
// documentation of its driver and of the Container Toolkit ("Driver Capabilities") groups them. The
// path is one in a container, so that one table serves documents from every source.
#include "container/capabilities.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/paths.h"
#include "base/text.h"

namespace gantry::container {
namespace {

struct Word {
  std::string_view name;
  unsigned bits;
};
constexpr std::array kWords = {
    Word{"compat32", Capabilities::kCompat32}, Word{"compute", Capabilities::kCompute},
    Word{"display", Capabilities::kDisplay},   Word{"graphics", Capabilities::kGraphics},
    Word{"ngx", Capabilities::kNgx},           Word{"utility", Capabilities::kUtility},
    Word{"video", Capabilities::kVideo},       Word{"all", Capabilities::kAll},
};

constexpr unsigned kCompute = Capabilities::kCompute;
constexpr unsigned kUtility = Capabilities::kUtility;
constexpr unsigned kVideo = Capabilities::kVideo;
constexpr unsigned kPicture = Capabilities::kGraphics | Capabilities::kDisplay;

// The first entry whose `start` is a prefix of the file's name counts.
struct Owner {
  std::string_view start;
  unsigned bits;
};
constexpr std::array kLibraries = {
    Owner{"libnvidia-ml.so", kUtility},
    Owner{"libnvidia-cfg.so", kUtility},
    Owner{"libnvidia-nscq.so", kUtility},
    Owner{"libcuda.so", kCompute},
    Owner{"libcudadebugger.so", kCompute},
    Owner{"libnvidia-opencl.so", kCompute},
    Owner{"libnvidia-compiler.so", kCompute},
    Owner{"libnvidia-ptxjitcompiler.so", kCompute},
    Owner{"libnvidia-fatbinaryloader.so", kCompute},
    Owner{"libnvidia-nvvm", kCompute},
    Owner{"libnvidia-pkcs11", kCompute},
    Owner{"libvdpau_nvidia.so", kVideo},
    Owner{"libnvidia-encode.so", kVideo},
    Owner{"libnvidia-opticalflow.so", kVideo},
    Owner{"libnvcuvid.so", kVideo},
    Owner{"libnvidia-egl", kPicture},
    Owner{"libnvidia-glcore.so", kPicture},
    Owner{"libnvidia-glsi.so", kPicture},
    Owner{"libnvidia-glvkspirv.so", kPicture},
    Owner{"libnvidia-tls.so", kPicture},
    Owner{"libnvidia-fbc.so", kPicture},
    Owner{"libnvidia-ifr.so", kPicture},
    Owner{"libnvidia-rtcore.so", kPicture},
    Owner{"libnvidia-cbl.so", kPicture},
    Owner{"libnvidia-vulkan-producer.so", kPicture},
    Owner{"libnvoptix.so", kPicture},
    Owner{"libGLX_", kPicture},
    Owner{"libEGL", kPicture},
    Owner{"libGLES", kPicture},
    Owner{"libglxserver_nvidia.so", kPicture},
    Owner{"nvidia_drv.so", kPicture},
    Owner{"nvidia-drm_gbm.so", kPicture},
    Owner{"libnvidia-ngx.so", Capabilities::kNgx},
    Owner{"nvoptix.bin", kPicture},
    Owner{"nvidia-smi", kUtility},
    Owner{"nvidia-debugdump", kUtility},
    Owner{"nvidia-persistenced", kUtility},
    Owner{"nvidia-cuda-mps", kCompute},
    Owner{"nvidia-imex", kCompute},
    Owner{"nvidia-xconfig", Capabilities::kDisplay},
    Owner{"nvidia-uvm", kCompute},
    Owner{"nvidia-modeset", kPicture},
    Owner{"nvidia.icd", kCompute},
    Owner{"nvidia_icd", kPicture},
    Owner{"nvidia_layers", kPicture},
    Owner{"10-nvidia.conf", kPicture},
    Owner{"nvidia-drm-outputclass.conf", kPicture},
};
constexpr std::array kFolders = {
    Owner{"/run/nvidia-persistenced/", kUtility},
    Owner{"/var/run/nvidia-persistenced/", kUtility},
    Owner{"/run/nvidia-fabricmanager/", kCompute},
    Owner{"/var/run/nvidia-fabricmanager/", kCompute},
    Owner{"/tmp/nvidia-mps", kCompute},
    Owner{"/dev/dri/", kPicture},
    Owner{"/usr/share/glvnd/", kPicture},
    Owner{"/usr/share/egl/", kPicture},
};

// The file that a flag of the hook names: "--link TARGET::LINK", "--library SONAME=PATH".
std::string PathOf(std::string_view flag, const std::string& value) {
  const bool link = flag == "--link" || flag == "--device-link";
  const std::string_view between = link ? "::" : flag == "--library" ? "=" : "";
  const size_t at = between.empty() ? std::string::npos : value.find(between);
  return at == std::string::npos ? "" : value.substr(at + between.size());
}

void KeepInHook(Capabilities wanted, std::vector<std::string>& args) {
  std::vector<std::string> kept;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string path = i + 1 < args.size() ? PathOf(args[i], args[i + 1]) : "";
    if (!path.empty() && !wanted.Has(CapabilitiesOf(path).bits)) {
      ++i;
      continue;
    }
    kept.push_back(args[i]);
  }
  args = std::move(kept);
}

}  // namespace

Result<Capabilities> ParseCapabilities(std::string_view text, Capabilities supported) {
  Capabilities found{0};
  for (const std::string& part : Split(text, ',')) {
    const std::string_view name = Trim(part);
    if (name.empty()) {
      continue;
    }
    const auto word = std::ranges::find(kWords, name, &Word::name);
    if (word == kWords.end()) {
      return Fail(ErrorKind::kInvalid,
                  format("read driver capabilities {}: {} is none", text, name));
    }
    if (name == "all") {
      found.bits |= supported.bits;
    } else if (!supported.Has(word->bits)) {
      return Fail(ErrorKind::kInvalid,
                  format("read driver capabilities {}: {} is not among the supported", text, name));
    }
    found.bits |= name == "all" ? 0 : word->bits;
  }
  return found;
}

Capabilities CapabilitiesOf(std::string_view path) {
  for (const Owner& owner : kFolders) {
    if (path.starts_with(owner.start)) {
      return {owner.bits};
    }
  }
  const std::string name = BaseName(path);
  for (const Owner& owner : kLibraries) {
    if (name.starts_with(owner.start)) {
      return {owner.bits};
    }
  }
  return {};
}

void KeepCapabilities(Capabilities wanted, CdiEdits& edits) {
  if (wanted == Capabilities{}) {
    return;
  }
  const auto other = [&](const std::string& path) {
    return !wanted.Has(CapabilitiesOf(path).bits);
  };
  std::erase_if(edits.mounts, [&](const CdiMount& mount) { return other(mount.container_path); });
  std::erase_if(edits.device_nodes, [&](const CdiDeviceNode& node) { return other(node.path); });
  for (CdiHook& hook : edits.hooks) {
    KeepInHook(wanted, hook.args);
  }
}

}  // namespace gantry::container
