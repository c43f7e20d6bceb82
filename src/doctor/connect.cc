// SPDX-License-Identifier: Apache-2.0
// How does a command at a prompt connect to the user's cluster? By the user's kubeconfig, including
// the clouds' credential programs that it names.
#include "doctor/connect.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "base/text.h"
#include "host/processes.h"

namespace gantry::doctor {
namespace {

// It may contact a cloud, or wait for a login in a browser.
constexpr std::chrono::seconds kLoginLimit{60};

Result<std::string> RunForCredentials(const kube::CredentialProgram& program) {
  host::Command command{.words = program.words, .root = "", .limit = kLoginLimit};
  command.environment = program.environment;
  const std::string& name = program.words.front();
  TRY_ASSIGN(command.words.front(), host::FindInPath(name));
  TRY_ASSIGN(host::Finished finished, host::RunProgram(command));
  if (finished.exit_status != 0) {
    return Fail(ErrorKind::kDenied, format("run {}: exit status {}: {}", name, finished.exit_status,
                                           Trim(finished.errors)));
  }
  return std::move(finished.output);
}

}  // namespace

void AddClusterFlags(CLI::App& app, ClusterFlags& flags) {
  app.add_option("--kubeconfig", flags.kubeconfig,
                 "path of a kubeconfig; default: $KUBECONFIG, the pod's account, ~/.kube/config");
  app.add_option("--context", flags.context,
                 "context of the kubeconfig; default: its current context");
}

Result<std::unique_ptr<kube::Client>> Connect(const ClusterFlags& flags, std::string component,
                                              std::stop_token stop) {
  TRY_ASSIGN(kube::Config config,
             kube::LoadConfig(flags.kubeconfig, flags.context, RunForCredentials));
  return kube::Client::Create(std::move(config), {.component = std::move(component)},
                              std::move(stop));
}

}  // namespace gantry::doctor
