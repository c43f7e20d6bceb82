// SPDX-License-Identifier: Apache-2.0
// A container's config.json, as an image's author may have filled it: what it asks for, and what is
// put into it; and that the short way to its root finds what a parser does.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "container/oci.h"
#include "container/oci_root.h"
#include "operands/container_runtime/device_requests.h"

namespace gantry::container_runtime {
namespace {

container::CdiEdits Edits() {
  container::CdiEdits edits;
  edits.env = {"NVIDIA_VISIBLE_DEVICES=void"};
  edits.device_nodes = {{"/dev/nvidia0", ""}};
  edits.mounts = {{"/a", "/b", {"ro"}}};
  edits.hooks = {{"createContainer", "/h", {"h"}, {}}};
  edits.additional_gids = {44};
  return edits;
}

void Fuzz(std::string_view text) {
  auto config = ParseJson(text);
  const std::string root = container::OciRootPath(text);
  if (!config) {
    return;
  }
  CHECK(root == TextAt(*config, "root.path"));
  RuntimeConfig settings;
  settings.mode = text.size() % 2 == 0 ? "cdi" : "auto";
  settings.accept_environment = true;
  settings.accept_mounts = true;
  const auto requests = RequestedDevices(*config, settings);
  if (requests && requests->devices.empty()) {
    return;
  }
  if (requests) {
    static_cast<void>(ResolveMode(settings, *requests, false));
  }
  static_cast<void>(
      RequestedCapabilities(container::ReadOciRequest(*config), settings, Mode::kLegacy));
  container::RemoveNvidiaHook(*config);
  const auto lookup = [](const std::string&) -> Result<container::DeviceNumbers> {
    return container::DeviceNumbers{};
  };
  CHECK(container::ApplyEdits(Edits(), lookup, *config).has_value());
}

}  // namespace
}  // namespace gantry::container_runtime

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  gantry::container_runtime::Fuzz({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
