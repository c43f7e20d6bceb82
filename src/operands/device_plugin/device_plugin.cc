// SPDX-License-Identifier: Apache-2.0
// The entry of the command nvidia-device-plugin.
#include "operands/device_plugin/device_plugin.h"

#include <cstdlib>
#include <utility>

#include "agent/flags.h"
#include "base/log.h"
#include "operands/device_plugin/plugin.h"

namespace gantry::device_plugin {
namespace {

Result<int> RunPlugin(Flags flags) {
  // What is wrong on the command line stays wrong; what a configuration adds may be mended.
  TRY(Decide(flags, {}, {}));
  if (!flags.kubeconfig.empty()) {
    // For the programs that write to the Node as well.
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
  // A thread may be inside a call into the driver that never returns: nothing may be torn down
  // under it.
  std::quick_exit(code.value_or(1));
}

}  // namespace

int RunDevicePlugin(int argc, char** argv) {
  return agent::RunWith(kPluginName, ParseFlags(argc, argv), Run);
}

}  // namespace gantry::device_plugin
