// SPDX-License-Identifier: Apache-2.0
// Does the kubelet have allocatable GPUs? Its pod-resources socket lists them. The kubelet sends no
// events, but writes its checkpoint into the plugins' folder whenever a plugin's device list
// changes. A device can still be unusable: a hook of its CDI document may be missing on the host.
#include "base/paths.h"
#include "container/cdi.h"
#include "kubelet/folders.h"
#include "operands/validator/stage.h"
#include "operands/validator/toolkit_files.h"
#include "policy/names.h"

namespace gantry::validator {
namespace {

using std::chrono::seconds;

constexpr seconds kAskAgain(300);
constexpr seconds kPluginLimit(5);
constexpr seconds kPluginHold(15);  // a restarted kubelet lists no device at first

class Plugin final : public Stage {
 public:
  explicit Plugin(const Site& here)
      : Stage({.name = "plugin",
               .file = names::kPluginReady,
               .hold = kPluginHold,
               .again = kAskAgain},
              here) {}

  [[nodiscard]] std::vector<WatchedPath> Paths() const override {
    std::vector<WatchedPath> paths = {
        {site().flags().pod_resources_dir, host::Watcher::For::kExistence},
        {site().Here(names::kCdiDir)}};
    for (const std::string& folder : kubelet::DevicePluginFolders(site().flags().kubelet_root)) {
      paths.push_back({site().Here(folder)});
    }
    return paths;
  }

  Look LookAt(bool /*changed*/) override {
    std::vector<std::string> argv = Site::Probe("plugin");
    argv.insert(argv.end(),
                {"--probe-socket", JoinPath(site().flags().pod_resources_dir, "kubelet.sock")});
    return {.finding = {}, .question = Question{std::move(argv), kPluginLimit}};
  }

  std::optional<Finding> Hear(const Answer& answer) override {
    const auto& flags = site().flags();
    const std::string document =
        JoinPath(names::kCdiDir, container::CdiFileStem(names::kDevicePluginCdiKind) + ".json");
    return JudgePlugin(answer, flags.kubelet_root,
                       flags.cdi_enabled ? MissingHooks(flags.host_root_here, document)
                                         : std::vector<std::string>());
  }
};

}  // namespace

std::unique_ptr<Stage> PluginStage(const Site& site) { return std::make_unique<Plugin>(site); }

}  // namespace gantry::validator
