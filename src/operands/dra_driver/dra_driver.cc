// SPDX-License-Identifier: Apache-2.0
// How does the command gpu-kubelet-plugin start?
#include "operands/dra_driver/dra_driver.h"

#include <cstdlib>
#include <utility>

#include "agent/flags.h"
#include "base/log.h"
#include "operands/dra_driver/driver.h"

namespace gantry::dra_driver {
namespace {

Result<int> RunWithSignals(Flags flags) {
  host::Signals signals;
  TRY_ASSIGN(auto status_files, host::StatusFiles::Open(flags.status_dir));
  TRY_ASSIGN(auto watcher, host::Watcher::Create());
  Driver driver(std::move(flags), signals, std::move(status_files), std::move(watcher));
  return driver.Run();
}

int Run(Flags flags) {
  const Result<int> code = RunWithSignals(std::move(flags));
  if (!code.has_value()) {
    log::Error("{}", code.error().message);
  }
  // A thread may be in a call into NVML that never returns: nothing that it uses may be destroyed.
  std::quick_exit(code.value_or(1));
}

}  // namespace

int RunDraDriver(int argc, char** argv) {
  return agent::RunWith(kProgram, ParseFlags(argc, argv), Run);
}

}  // namespace gantry::dra_driver
