// SPDX-License-Identifier: Apache-2.0
// How does the command nvidia-device-plugin start?
#include "operands/device_plugin/device_plugin.h"

#include <cstdlib>
#include <utility>

#include "agent/flags.h"
#include "base/log.h"
#include "operands/device_plugin/plugin.h"

namespace gantry::device_plugin {
namespace {

Result<int> RunPlugin(Flags flags) {
  // A mistake on the command line is permanent; one in the configuration may be fixed.
  TRY(Decide(flags, {}, {}));
  if (!flags.kubeconfig.empty()) {
    // Also for the programs that write to the Node.
    setenv("KUBECONFIG", flags.kubeconfig.c_str(), 1);
  }
  host::Signals signals;
  TRY_ASSIGN(auto status_files, host::StatusFiles::Open(flags.status_dir));
  TRY_ASSIGN(auto watcher, host::Watcher::Create());
  Plugin plugin(std::move(flags), signals, std::move(status_files), std::move(watcher));
  return plugin.Run();
}

int Run(Flags flags) {
  const Result<int> code = RunPlugin(std::move(flags));
  if (!code) {
    log::Error("{}", code.error().message);
  }
  // A thread may be in a call into the driver that never returns: nothing that it uses may be
  // destroyed.
  std::quick_exit(code.value_or(1));
}

}  // namespace

int RunDevicePlugin(int argc, char** argv) {
  return agent::RunWith(kPluginName, ParseFlags(argc, argv), Run);
}

}  // namespace gantry::device_plugin
