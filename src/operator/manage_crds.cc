// SPDX-License-Identifier: Apache-2.0
#include "operator/manage_crds.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
#include <stop_token>

#include "base/command_line.h"
#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "kube/client.h"
#include "operator/definitions.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using std::chrono::seconds;

constexpr const kube::Kind& kDefinition = kube::kinds::kCustomResourceDefinition;

// What is installed next may be of this kind.
Status AwaitEstablished(kube::Client& client, const Json& stored, seconds at_most) {
  if (IsEstablished(stored)) {
    return {};
  }
  const std::string name = TextAt(stored, "metadata.name");
  std::stop_source seen;
  const Status watched =
      client.Bounded(seen.get_token())
          ->WatchOnce(kDefinition, {.fields = "metadata.name=" + name},
                      {.resource_version = TextAt(stored, "metadata.resourceVersion"),
                       .server_timeout = at_most,
                       .idle_limit = at_most + seconds(5)},
                      [&seen](const Json& event) {
                        if (IsEstablished(event.value("object", Json()))) {
                          seen.request_stop();
                        }
                      });
  if (seen.stop_requested()) {
    return {};
  }
  TRY(watched);
  return Fail(ErrorKind::kTimeout,
              format("the kind is not established after {} s", at_most.count()));
}

Status Apply(kube::Client& client, const std::string& file, seconds at_most) {
  TRY_ASSIGN(const std::string text, ReadFile(file));
  TRY_ASSIGN(const Json wanted, ParseDefinition(text));
  const kube::Key key{"", TextAt(wanted, "metadata.name")};
  auto stored = client.Get(kDefinition, key);
  if (stored.has_value()) {
    const Json patch = DefinitionPatch(wanted, *stored);
    if (patch.is_null()) {
      log::Info("{} is another's and stays as it is", key.name);
      return {};
    }
    stored = client.MergePatch(kDefinition, key, patch);
  } else if (stored.error().kind == ErrorKind::kNotFound) {
    stored = client.Create(kDefinition, wanted);
  }
  TRY_ASSIGN(const Json definition, std::move(stored));
  TRY(AwaitEstablished(client, definition, at_most));
  log::Info("{} is up to date", key.name);
  return {};
}

}  // namespace

int RunManageCrds(int argc, char** argv) {
  std::vector<std::string> files;
  std::string kubeconfig;
  long long timeout = 30;
  CLI::App app("Brings the operator's custom resource definitions to a cluster", "manage-crds");
  app.require_subcommand(1);
  CLI::App* apply = app.add_subcommand("apply", "Creates them, or brings them up to date");
  apply->add_option("--filepath", files, "A file of one definition; may stand there again")
      ->required();
  apply->add_option("--timeout", timeout, "Seconds to wait for each to be established")
      ->check(CLI::Range(1, 600))
      ->capture_default_str();
  apply->add_option("--kubeconfig", kubeconfig, "Path of a kubeconfig; empty: in-cluster");
  if (const std::optional<int> code = ParseOrExitCode(app, argc, argv)) {
    return *code;
  }
  const Status status = [&]() -> Status {
    TRY_ASSIGN(kube::Config config, kube::LoadConfig(kubeconfig));
    kube::ClientOptions options;
    options.component = "manage-crds";
    options.field_manager = names::kFieldManager;
    TRY_ASSIGN(const auto client, kube::Client::Create(std::move(config), options));
    for (const std::string& file : files) {
      if (const Status applied = Apply(*client, file, seconds(timeout)); !applied.has_value()) {
        return std::unexpected(applied.error().In("apply " + file));
      }
    }
    return {};
  }();
  if (!status.has_value()) {
    log::Error("{}", status.error().message);
    return 1;
  }
  return 0;
}

}  // namespace gantry::gpu_operator
