// SPDX-License-Identifier: Apache-2.0
// Which custom resource definitions does the operator create, patch or delete in a cluster?
#include "operator/manage_crds.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>

#include "base/command_line.h"
#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "kube/await_object.h"
#include "kube/client.h"
#include "operator/await_gone.h"
#include "operator/definitions.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using std::chrono::seconds;

constexpr const kube::Kind& kDefinitions = kube::kinds::kCustomResourceDefinition;

// A later document may be an object of this kind.
Status AwaitEstablished(kube::Client& client, const Json& stored, seconds at_most) {
  if (IsEstablished(stored)) {
    return {};
  }
  const Status seen = kube::AwaitObject(
      client, kDefinitions, TextAt(stored, "metadata.name"), at_most,
      [](const Json* object) { return object != nullptr && IsEstablished(*object); });
  if (!seen.has_value()) {
    return std::unexpected(seen.error().In("wait until the kind is established"));
  }
  return {};
}

Status Apply(kube::Client& client, const Json& wanted, seconds at_most) {
  const kube::Key key{"", TextAt(wanted, "metadata.name")};
  auto stored = client.Get(kDefinitions, key);
  if (stored.has_value() && IsBeingDeleted(*stored)) {
    log::Info("{} is being deleted, and will be created again", key.name);
    TRY(AwaitGone(client, {key.name}, at_most));
    stored = client.Get(kDefinitions, key);
  }
  if (stored.has_value()) {
    if (IsAnothers(*stored)) {
      log::Info("{} belongs to another installation; left unchanged", key.name);
      return {};
    }
    stored = client.MergePatch(kDefinitions, key, DefinitionPatch(wanted));
  } else if (stored.error().kind == ErrorKind::kNotFound) {
    stored = client.Create(kDefinitions, wanted);
  }
  TRY_ASSIGN(const Json definition, std::move(stored));
  TRY(AwaitEstablished(client, definition, at_most));
  log::Info("{} is up to date", key.name);
  return {};
}

// True: it is being deleted now.
Result<bool> DeleteDefinition(kube::Client& client, const std::string& name) {
  const kube::Key key{"", name};
  const auto stored = client.Get(kDefinitions, key);
  if (stored.has_value() && IsAnothers(*stored)) {
    log::Info("{} belongs to another installation; not deleted", name);
    return false;
  }
  const Status deleted = stored.has_value() ? client.Delete(kDefinitions, key)
                                            : Status(std::unexpected(stored.error()));
  if (!deleted.has_value() && deleted.error().kind == ErrorKind::kNotFound) {
    log::Info("{} is not there", name);
    return false;
  }
  TRY(deleted);
  log::Info("{} is deleted", name);
  return true;
}

// The file itself, existing or not; for a folder, all YAML files below it by name, in order.
Result<std::vector<std::string>> FilesAt(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return std::vector<std::string>{path};
  }
  std::vector<std::string> files;
  fs::recursive_directory_iterator entry(path, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const fs::path extension = entry->path().extension();
    if (extension == ".yaml" || extension == ".yml") {
      files.push_back(entry->path());
    }
  }
  if (error) {
    return FailErrno("list " + path, error.value());
  }
  std::ranges::sort(files);
  return files;
}

Result<std::vector<Json>> DefinitionsAt(const std::string& path) {
  TRY_ASSIGN(const std::vector<std::string> files, FilesAt(path));
  std::vector<Json> all;
  for (const std::string& file : files) {
    TRY_ASSIGN(const std::string text, ReadFile(file));
    auto definitions = ParseDefinitions(text);
    if (!definitions.has_value()) {
      return std::unexpected(definitions.error().In(file));
    }
    std::ranges::move(*definitions, std::back_inserter(all));
  }
  if (all.empty()) {
    return Fail(ErrorKind::kInvalid, format("{}: there is no CustomResourceDefinition", path));
  }
  return all;
}

struct Request {
  std::vector<std::string> paths;
  std::string kubeconfig;
  seconds timeout{30};
  bool remove = false;
};

Status ApplyAll(kube::Client& client, const std::vector<Json>& definitions, seconds at_most) {
  for (const Json& definition : definitions) {
    if (Status done = Apply(client, definition, at_most); !done.has_value()) {
      return std::unexpected(done.error().In("apply " + TextAt(definition, "metadata.name")));
    }
  }
  return {};
}

// Objects with finalizers may keep a CRD for any time: that is reported, and is not a failure.
Status DeleteAll(kube::Client& client, const std::vector<Json>& definitions, seconds at_most) {
  std::set<std::string> going;
  for (const Json& definition : definitions) {
    const std::string name = TextAt(definition, "metadata.name");
    const Result<bool> deleted = DeleteDefinition(client, name);
    if (!deleted.has_value()) {
      return std::unexpected(deleted.error().In("delete " + name));
    }
    if (*deleted) {
      going.insert(name);
    }
  }
  if (const Status gone = AwaitGone(client, going, at_most); !gone.has_value()) {
    log::Warning("{}", gone.error().message);
  }
  return {};
}

Status Do(const Request& request) {
  std::vector<Json> definitions;
  for (const std::string& path : request.paths) {
    TRY_ASSIGN(std::vector<Json> found, DefinitionsAt(path));
    log::Debug("{}: {} definitions", path, found.size());
    std::ranges::move(found, std::back_inserter(definitions));
  }
  TRY_ASSIGN(kube::Config config, kube::LoadConfig(request.kubeconfig));
  kube::ClientOptions options;
  options.component = "manage-crds";
  options.field_manager = names::kFieldManager;
  TRY_ASSIGN(const auto client, kube::Client::Create(std::move(config), options));
  return request.remove ? DeleteAll(*client, definitions, request.timeout)
                        : ApplyAll(*client, definitions, request.timeout);
}

}  // namespace

int RunManageCrds(int argc, char** argv) {
  Request request;
  long long timeout = request.timeout.count();
  bool debug = false;
  CLI::App app("Brings the operator's custom resource definitions to a cluster, or takes them away",
               "manage-crds");
  app.require_subcommand(1);
  CLI::App* apply = app.add_subcommand("apply", "Creates them, or brings them up to date");
  CLI::App* remove = app.add_subcommand("delete", "Deletes those that are there");
  for (CLI::App* command : {apply, remove}) {
    command
        ->add_option("-f,--filepath", request.paths,
                     "A file, or a folder with all .yaml and .yml below it; may stand there again")
        ->required();
    command->add_option("--kubeconfig", request.kubeconfig,
                        "Path of a kubeconfig; empty: in-cluster");
    command->fallthrough();
  }
  app.add_flag("-d,--debug", debug, "Log level debug")->envname("DEBUG");
  const char* waited_for[] = {"Seconds to wait for each to be established",
                              "Seconds to wait until they are gone"};
  for (CLI::App* command : {apply, remove}) {
    command->add_option("--timeout", timeout, waited_for[command == remove ? 1 : 0])
        ->check(CLI::Range(1, 600))
        ->capture_default_str();
  }
  if (const std::optional<int> code = ParseOrExitCode(app, argc, argv)) {
    return *code;
  }
  if (debug) {
    log::SetLevel(log::Level::kDebug);
  }
  request.timeout = seconds(timeout);
  request.remove = remove->parsed();
  if (const Status status = Do(request); !status.has_value()) {
    log::Error("{}", status.error().message);
    return 1;
  }
  return 0;
}

}  // namespace gantry::gpu_operator
