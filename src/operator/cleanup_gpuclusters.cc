// SPDX-License-Identifier: Apache-2.0
// How is a GPUCluster deleted that NVIDIA's operator has left?
#include "operator/cleanup_gpuclusters.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
#include <string>

#include "base/command_line.h"
#include "base/log.h"
#include "kube/await_object.h"
#include "kube/client.h"
#include "policy/kinds.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using std::chrono::seconds;

constexpr seconds kPatience(300);
Status Delete(kube::Client& client, const std::string& name) {
  const kube::Key key{"", name};
  const auto stored = client.Get(policy::kGpuCluster, key);
  const Status asked = stored.has_value() ? client.Delete(policy::kGpuCluster, key)
                                          : Status(std::unexpected(stored.error()));
  // Absent, or of a kind that the API server does not serve.
  if (!asked.has_value() && asked.error().kind == ErrorKind::kNotFound) {
    log::Info("there is no GPUCluster {}", name);
    return {};
  }
  TRY(asked);
  const Status gone = kube::AwaitObject(client, policy::kGpuCluster, name, kPatience,
                                        [](const Json* object) { return object == nullptr; });
  if (!gone.has_value()) {
    return std::unexpected(gone.error().In(format(
        "wait for the end of GPUCluster {}, which its operator's finalizer may hold", name)));
  }
  log::Info("GPUCluster {} is gone", name);
  return {};
}

}  // namespace

int RunCleanupGpuClusters(int argc, char** argv) {
  std::string name;
  std::string kubeconfig;
  bool debug = false;
  CLI::App app("Deletes a GPUCluster and waits until it is gone", "cleanup-gpuclusters");
  app.add_option("--gpucluster-name", name, "Its name")->envname("GPUCLUSTER_NAME")->required();
  app.add_option("--kubeconfig", kubeconfig, "Path of a kubeconfig; empty: in-cluster");
  app.add_flag("-d,--debug", debug, "Log level debug")->envname("DEBUG");
  if (const std::optional<int> code = ParseOrExitCode(app, argc, argv)) {
    return *code;
  }
  if (debug) {
    log::SetLevel(log::Level::kDebug);
  }
  const Status status = [&]() -> Status {
    TRY_ASSIGN(kube::Config config, kube::LoadConfig(kubeconfig));
    kube::ClientOptions options;
    options.component = "cleanup-gpuclusters";
    options.field_manager = names::kFieldManager;
    TRY_ASSIGN(const auto client, kube::Client::Create(std::move(config), options));
    return Delete(*client, name);
  }();
  if (!status.has_value()) {
    log::Error("{}", status.error().message);
    return 1;
  }
  return 0;
}

}  // namespace gantry::gpu_operator
