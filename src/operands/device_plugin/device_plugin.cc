// SPDX-License-Identifier: Apache-2.0
// The entry of the command nvidia-device-plugin.
#include "operands/device_plugin/device_plugin.h"

#include <cstdlib>

#include "base/log.h"
#include "operands/device_plugin/plugin.h"

namespace gantry::device_plugin {
namespace {

Result<int> Run(Arguments arguments) {
  // What is wrong on the command line stays wrong; what a configuration adds may be mended.
  TRY(Decide(arguments, {}, {}));
  if (!arguments.kubeconfig.empty()) {
    // For the programs that write to the Node as well.
    setenv("KUBECONFIG", arguments.kubeconfig.c_str(), 1);
  }
  host::Signals signals;
  TRY_ASSIGN(auto status_files, host::StatusFiles::Open(arguments.status_dir));
  TRY_ASSIGN(auto watcher, host::Watcher::Create());
  Plugin plugin(std::move(arguments), signals, std::move(status_files), std::move(watcher));
  return plugin.Run();
}

}  // namespace

int RunDevicePlugin(int argc, char** argv) {
  auto arguments = ParseArguments(argc, argv);
  if (!arguments) {
    log::Error("{}", arguments.error().message);
    return 2;
  }
  const auto given = *std::move(arguments);
  if (!given.has_value()) {
    return 0;
  }
  auto code = Run(*given);
  if (!code) {
    log::Error("{}", code.error().message);
    code = 1;
  }
  // A thread may be inside a call into the driver that never returns: nothing may be torn down
  // under it.
  std::quick_exit(*code);
}

}  // namespace gantry::device_plugin
