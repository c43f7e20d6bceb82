// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "operator/desired/container.h"
#include "operator/desired/context.h"
#include "operator/desired/hash_text.h"

namespace gantry::gpu_operator {

// An object with the labels and the owner that all objects of ours carry.
Json OwnedObject(const Context& context, std::string_view api_version, std::string_view kind,
                 std::string_view name, bool namespaced);
Json ServiceAccount(const Context& context, std::string_view name);
// One rule of a Role or ClusterRole.
Json Rule(std::string_view group, std::string_view resource,
          std::initializer_list<const char*> verbs);
// The rule that OpenShift asks of pods that are privileged or see the host's files.
Json MayBePrivileged();
// Names in its annotations which labels and annotations it has by now: see names::kWrittenKeys.
void NameWrittenKeys(Json& object);
// Gives each object the label `app`, by which people choose them.
void LabelApp(std::span<Json> objects, std::string_view app);
// The value that the user gave a variable of an operand's section; empty if none.
std::string UserEnv(const policy::OperandSpec& spec, std::string_view name);
// A Role and its RoleBinding, or the same for the cluster, to the service account of that name, or
// to another.
void AddRole(Objects& objects, const Context& context, std::string_view name, Json rules);
void AddClusterRole(Objects& objects, const Context& context, std::string_view name, Json rules,
                    std::string_view account = {});
// The Role of pods that are privileged or see the host's files, with further rules: nothing where
// there is no rule to write.
void AddHostRole(Objects& objects, const Context& context, std::string_view name,
                 Json rules = Json::array());

// What the API server's kubelet sees to before it mounts a path of the host.
enum class HostDir { kAny, kCreate, kDirectory, kFileOrCreate };

// A DaemonSet with everything that all operands have alike. Every method sets one thing; Build
// gives the object, with the annotation that carries its hash.
class DaemonSet {
 public:
  // `container` is the main one, `command` words with spaces between (empty: the image's own);
  // `spec` the operand's section of the policy: its pull policy, args, resources, hostNetwork. Its
  // environment is set by the operand, last.
  DaemonSet(const Context& context, std::string_view name, std::string_view container,
            std::string_view command, const std::string& image, const policy::OperandSpec& spec);

  // Nodes with the deploy label of that suffix.
  void SelectDeployed(std::string_view suffix);
  void SelectNodes(Json selector);
  // Nodes that have the label, whatever its value.
  void SelectNodesWithLabel(std::string_view label);
  // A label of the DaemonSet, its pods and its selector.
  void Label(std::string_view key, std::string_view value);
  void UseServiceAccount(std::string_view name, bool token);
  void TolerateEverything();
  void Privileged() { main().Privileged(); }
  void Unprivileged() { main().Unprivileged(); }
  void HostPid() { PodField("hostPID", true); }
  // A port that the container listens on.
  void Port(std::string_view name, int number) { main().Port(name, number); }
  // Ready once the command, run in the container each second, exits with 0.
  void ReadyWhen(std::initializer_list<const char*> command);
  // New pods come up beside the old ones on a node, and have some seconds to take over, before
  // those go.
  void SurgeOnUpdate();
  // An annotation of the pods, or of the DaemonSet alone.
  void AnnotatePods(std::string_view key, std::string_view value);
  void Annotate(std::string_view key, std::string_view value);
  // A label of the DaemonSet and its pods, not of its selector.
  void LabelOnly(std::string_view key, std::string_view value);
  // The pods' selector is this label alone.
  void SelectPodsBy(std::string_view key, std::string_view value);
  // The containers see each other's processes; the host's processes are these too.
  void ShareProcesses();
  // A field of core/v1 PodSpec.
  void PodField(std::string_view key, Json value);

  void Env(std::string_view name, std::string_view value) { main().Env(name, value); }
  void EnvFromField(std::string_view name, std::string_view path) {
    main().EnvFromField(name, path);
  }
  void Env(const policy::EnvVars& variables) { main().Env(variables); }

  // A directory of the host in the main container.
  void HostPath(std::string_view volume, std::string_view path, std::string_view mount,
                HostDir create, bool read_only);
  // A folder of the host on which mounts that the container makes are seen by the host too.
  void SharedHostPath(std::string_view volume, std::string_view path, std::string_view mount);
  // A directory of the host as a volume only.
  void HostVolume(std::string_view volume, std::string_view path, HostDir create = HostDir::kAny);
  // Any other volume: its name, and a field of core/v1 Volume.
  void Volume(std::string_view name, std::string_view source, Json value);
  // The host's whole tree at /host, with mounts that come later.
  void HostRoot(bool read_only);
  // The driver container's tree at /driver-root, which appears when that container is up.
  void DriverRoot();
  // The status files of the node, to be written, or only to be read.
  void WritesValidations();
  void ReadsValidations();
  // What the device plugin and GPU feature discovery read their configuration from, if the policy
  // names a ConfigMap.
  void PluginConfig();
  void MigStrategy();
  // Says whether the policy wants a device plugin: where it does not, no devices are to be missed.
  void DevicePluginEnabled();

  // A variable of every container that there is by now and that has none of that name.
  void EnvEverywhere(std::string_view name, std::string_view value);

  // A label of the DaemonSet alone.
  void LabelSet(std::string_view key, std::string_view value);

  // The first container. References stay good.
  Container& main() { return containers_.front(); }
  // The container of that name, or nullptr.
  Container* Find(std::string_view name);
  // Further ones, in order; `image` is pulled as the section says.
  Container& AddContainer(std::string_view name, const std::string& image);
  Container& AddInit(std::string_view name, const std::string& image);

  // Names of Secrets, besides those of the section and, where a container runs this release's
  // image, the operator's; each once.
  void AddPullSecrets(const std::vector<std::string>& names);

  // How the image of a further container is pulled, which has its own.
  void SetPullPolicy(Container& container, const policy::ImageSpec& image) const;

  // Updated by deleting pods only, whatever the policy says.
  void UpdateOnDelete() { on_delete_ = true; }

  [[nodiscard]] Json Build() const;

 protected:
  [[nodiscard]] const Context& context() const { return context_; }

 private:
  [[nodiscard]] std::string PullPolicy(const std::string& image, const std::string& asked) const;
  [[nodiscard]] Json PullSecrets() const;

  const Context& context_;
  Json object_;
  Json pod_ = Json::object();  // the pod's spec
  std::string pull_policy_;    // as the section has it
  std::set<std::string> pull_secrets_;
  std::deque<Container> containers_;
  std::deque<Container> init_;
  bool surge_ = false;
  bool on_delete_ = false;
};

}  // namespace gantry::gpu_operator
