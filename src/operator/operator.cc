// SPDX-License-Identifier: Apache-2.0

// How does the operator run? It reads flags and environment, waits for the lease, and runs its
// controllers while it holds it. It does not poll: without changes the only requests are renewals
// of the lease and the watches' own.

#include "operator/operator.h"

#include <malloc.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>

#include "base/environment.h"
#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "http/server.h"
#include "kube/lease.h"
#include "operator/controllers.h"
#include "operator/flags.h"
#include "operator/value_names.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

// SIGTERM and SIGINT: the operator shuts down in order.
class EndSignals {
 public:
  // Before any thread starts: they inherit the blocked signals.
  EndSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    CHECK(pthread_sigmask(SIG_BLOCK, &signals_, nullptr) == 0);
  }
  // Blocks.
  void Wait() const {
    int number = 0;
    CHECK(sigwait(&signals_, &number) == 0);
  }

 private:
  sigset_t signals_{};
};

Result<std::unique_ptr<http::Server>> Serve(const std::string& address,
                                            const http::Server::Handler& answer) {
  if (address == "0" || address.empty()) {
    return nullptr;
  }
  return http::Server::Start(address, answer);
}

// One for each writer: the nodes' workers, the cluster's and the upgrades'.
constexpr int kIdleConnections = 6;

Status Run(const Flags& flags, const Settings& settings) {
  const EndSignals signals;
  TRY_ASSIGN(kube::Config config, kube::LoadConfig(flags.kubeconfig));
  kube::ClientOptions options;
  options.component = "gpu-operator";
  options.field_manager = names::kFieldManager;
  options.max_idle_connections = kIdleConnections;
  TRY_ASSIGN(const auto client, kube::Client::Create(std::move(config), options));

  std::array<char, 256> host{};
  CHECK(gethostname(host.data(), host.size() - 1) == 0);
  const std::string identity = EnvironmentOr("POD_NAME", host.data());
  Controllers controllers(*client, settings, identity);

  TRY_ASSIGN(const auto probes, Serve(flags.probe_address, [](std::string_view path) {
               const bool known = path == "/healthz" || path == "/readyz";
               return http::Response{known ? 200 : 404, known ? "ok" : "not found"};
             }));
  // A restarted container in the same pod is the same holder: no other process can have its name,
  // and it need not wait for the lease to expire. An idle operator wakes only for renewals: a
  // period of a third of the deadline leaves two retries.
  const std::string lease_namespace =
      flags.lease_namespace.empty() ? settings.ns : flags.lease_namespace;
  kube::LeaseOptions lease_options{.lease = {lease_namespace, names::kOperatorLease},
                                   .identity = identity,
                                   .lease_duration = flags.lease_duration,
                                   .renew_deadline = flags.renew_deadline,
                                   .retry_period = flags.renew_deadline / 3};
  TRY(kube::Lease::Check(lease_options));
  kube::Lease lease(
      *client, std::move(lease_options),
      {.acquired = [&] { controllers.Start(); },
       .lost =
           [](const Error& why) {
             log::Error("the lease was lost, so this process ends: {}", why.message);
             // At once, as controller-runtime does: the next leader may write from now on, and an
             // orderly shutdown would wait for pending writes.
             _exit(1);
           },
       .leader_changed = [](const std::string& leader) { log::Info("the leader is {}", leader); }});
  TRY_ASSIGN(const auto metrics, Serve(flags.metrics_address, [&](std::string_view path) {
               return path == "/metrics" ? http::MetricsResponse(controllers.FormatMetrics() +
                                                                 client->FormatMetrics() +
                                                                 FormatLeader(lease.held()))
                                         : http::Response{404, "not found"};
             }));
  if (flags.leader_elect) {
    lease.Start();
  } else {
    controllers.Start();
  }
  signals.Wait();
  controllers.Stop();
  lease.Stop();
  return {};
}

// A chart file in the image; null if the program runs without its image.
Result<Json> ReadChartFile(const std::string& name) {
  const auto text = ReadFile(JoinPath(EnvironmentOr("CHART_FILES", "/opt/gpu-operator"), name));
  if (!text.has_value()) {
    log::Debug("{}", text.error().message);
    return Json::object();
  }
  auto json = ParseJson(*text);
  return json.has_value() ? std::move(json) : std::unexpected(json.error().In(name));
}

// The chart's values of unknown names, and the chart files in the image.
Status ReadChartsWords(Settings& settings) {
  if (const std::string pod = EnvironmentOr("NFD_WORKER_POD", ""); !pod.empty()) {
    auto parsed = ParseJson(pod);
    if (!parsed.has_value() || !parsed->is_object()) {
      return Fail(ErrorKind::kInvalid, "NFD_WORKER_POD: must be an object in JSON");
    }
    settings.release.worker_pod = *std::move(parsed);
  }
  for (const auto& [variable, names] :
       {std::pair("VALUES_NOT_KNOWN", &settings.values_not_known),
        std::pair("VALUES_NOT_FOLLOWED", &settings.values_not_followed)}) {
    auto parsed = ParseNames(EnvironmentOr(variable, ""));
    if (!parsed.has_value()) {
      return std::unexpected(parsed.error().In(variable));
    }
    *names = *std::move(parsed);
  }
  if (!settings.values_not_known.empty()) {
    TRY_ASSIGN(const Json known, ReadChartFile("known-values.json"));
    settings.values_not_known = WithNearest(settings.values_not_known, KnownValues(known));
  }
  TRY_ASSIGN(const Json fields, ReadChartFile("definition-fields.json"));
  TRY_ASSIGN(settings.definitions, OwnDefinitions(fields));
  return {};
}

}  // namespace

int RunOperator(int argc, char** argv) {
  // A dozen threads mostly sleep in a watch; a malloc arena for each would cost megabytes.
  mallopt(M_ARENA_MAX, 2);
  const auto flags = ParseFlags(argc, argv);
  if (!flags.has_value()) {
    return flags.error();
  }
  log::SetLevel(flags->level);
  Settings settings;
  Release& release = settings.release;
  settings.ns = EnvironmentOr(names::kOperatorNamespace, "");
  release.image = EnvironmentOr("OPERATOR_IMAGE", EnvironmentOr("VALIDATOR_IMAGE", ""));
  release.pull_policy = EnvironmentOr("OPERATOR_IMAGE_PULL_POLICY", release.pull_policy);
  release.pull_secrets = Split(EnvironmentOr("OPERATOR_IMAGE_PULL_SECRETS", ""), ',');
  if (settings.ns.empty()) {
    log::Error("read environment: {} is not set", names::kOperatorNamespace);
    return 1;
  }
  const auto node_features = ParseBool(EnvironmentOr("NODE_FEATURES_ENABLED", "true"));
  if (!node_features.has_value()) {
    log::Error("read NODE_FEATURES_ENABLED: {}", node_features.error().message);
    return 1;
  }
  settings.node_features = *node_features;
  settings.startup_taint = EnvironmentOr("STARTUP_TAINT", "");
  auto master = ParseMasterConfig(EnvironmentOr("NFD_MASTER_CONFIG", ""));
  if (!master.has_value()) {
    log::Error("read NFD_MASTER_CONFIG: {}", master.error().message);
    return 1;
  }
  for (const std::string& warning : master->warnings) {
    log::Warning("NFD_MASTER_CONFIG: {}", warning);
  }
  settings.master = *std::move(master);
  auto instance = ParseInstance(EnvironmentOr("NFD_MASTER_INSTANCE", ""));
  if (!instance.has_value()) {
    log::Error("read NFD_MASTER_INSTANCE: {}", instance.error().message);
    return 1;
  }
  settings.master.nodes.instance = *std::move(instance);
  release.worker_config = EnvironmentOr("NFD_WORKER_CONFIG", "");
  if (const Status read = ReadChartsWords(settings); !read.has_value()) {
    log::Error("read {}", read.error().message);
    return 1;
  }
  release.driver_manager = EnvironmentOr("DRIVER_MANAGER_IMAGE", "");
  release.cuda_image = EnvironmentOr("CUDA_IMAGE", "");
  for (const auto& [section, variable] :
       {std::pair("driver", "DRIVER_IMAGE"), std::pair("migManager", "MIG_MANAGER_IMAGE"),
        std::pair("vfioManager", "VFIO_MANAGER_IMAGE"),
        std::pair("sandboxDevicePlugin", "SANDBOX_DEVICE_PLUGIN_IMAGE")}) {
    release.known_images[section] = EnvironmentOr(variable, release.known_images[section]);
  }
  if (const Status status = Run(*flags, settings); !status.has_value()) {
    log::Error("run the operator: {}", status.error().message);
    return 1;
  }
  return 0;
}

}  // namespace gantry::gpu_operator
