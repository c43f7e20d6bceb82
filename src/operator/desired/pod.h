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

// An object with the labels and the owner of all operator objects.
Json OwnedObject(const Context& context, std::string_view api_version, std::string_view kind,
                 std::string_view name, bool namespaced);
Json ServiceAccount(const Context& context, std::string_view name);
// One rule of a Role or ClusterRole.
Json Rule(std::string_view group, std::string_view resource,
          std::initializer_list<const char*> verbs);
// The rule that OpenShift requires for pods that are privileged or see the host's files.
Json MayBePrivileged();
// Lists its present labels and annotations in an annotation: see names::kWrittenKeys.
void NameWrittenKeys(Json& object);
// Gives each object the label `app`, by which users select them.
void LabelApp(std::span<Json> objects, std::string_view app);
// The user's value for a variable in an operand's section; empty if none.
std::string UserEnv(const policy::OperandSpec& spec, std::string_view name);
// A Role and its RoleBinding, or the same for the cluster, for the service account of that name, or
// another.
void AddRole(Objects& objects, const Context& context, std::string_view name, Json rules);
void AddClusterRole(Objects& objects, const Context& context, std::string_view name, Json rules,
                    std::string_view account = {});
// The Role of pods that are privileged or see the host's files, with further rules: nothing without
// any rule.
void AddHostRole(Objects& objects, const Context& context, std::string_view name,
                 Json rules = Json::array());

// The CDI name by which a pod of the operator gets every GPU of its node.
const std::string& AllGpus();

// What the kubelet ensures before it mounts a host path.
enum class HostDir { kAny, kCreate, kDirectory, kFileOrCreate };

// A DaemonSet with everything that all operands have in common. Every method sets one thing; Build
// returns the object, with the annotation of its hash.
class DaemonSet {
 public:
  // `container` is the main one, `command` its command, separated by spaces (empty: the image's
  // own); `spec` the operand's section of the policy: its pull policy, args, resources,
  // hostNetwork. Its environment is set by the operand, last.
  DaemonSet(const Context& context, std::string_view name, std::string_view container,
            std::string_view command, const std::string& image, const policy::OperandSpec& spec);

  // Nodes with the deploy label of that suffix.
  void SelectDeployed(std::string_view suffix);
  void SelectNodes(Json selector);
  // Selects nodes with the label, whatever its value.
  void SelectNodesWithLabel(std::string_view label);
  // A label of the DaemonSet, its pods and its selector.
  void Label(std::string_view key, std::string_view value);
  void UseServiceAccount(std::string_view name, bool token);
  void TolerateEverything();
  void Privileged() { main().Privileged(); }
  void Unprivileged() { main().Unprivileged(); }
  // The pods get devices by the runtime, or the named container gets them by NRI: CDI names,
  // separated by commas.
  void UseNvidiaRuntime(std::string_view container, std::string_view devices = AllGpus());
  void HostPid() { PodField("hostPID", true); }
  // A port that the container listens on.
  void Port(std::string_view name, int number) { main().Port(name, number); }
  // Ready once the command, run in the container each second, exits with 0.
  void ReadyWhen(std::initializer_list<const char*> command);
  // New pods start beside the old ones on a node, and have some seconds to take over before the old
  // ones are deleted.
  void SurgeOnUpdate();
  // An annotation of the pods, or of the DaemonSet only.
  void AnnotatePods(std::string_view key, std::string_view value);
  void Annotate(std::string_view key, std::string_view value);
  // A label of the DaemonSet and its pods, not of its selector.
  void LabelOnly(std::string_view key, std::string_view value);
  // The pods' selector is only this label.
  void SelectPodsBy(std::string_view key, std::string_view value);
  // The containers see each other's processes; with the host's PID namespace they do already.
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
  // A folder of the host, where the host also sees the container's mounts.
  void SharedHostPath(std::string_view volume, std::string_view path, std::string_view mount);
  // A directory of the host as a volume only.
  void HostVolume(std::string_view volume, std::string_view path, HostDir create = HostDir::kAny);
  // Any other volume: its name, and a field of core/v1 Volume.
  void Volume(std::string_view name, std::string_view source, Json value);
  // The host's entire root at /host, with later mounts.
  void HostRoot(bool read_only);
  // The driver container's root at /driver-root, which appears when that container runs.
  void DriverRoot();
  // The status files of the node, writable or read-only.
  void WritesValidations();
  void ReadsValidations();
  // The configuration of the device plugin and GPU feature discovery, if the policy names a
  // ConfigMap.
  void PluginConfig();
  void MigStrategy();
  // A variable: whether the policy has a device plugin. Without one, no devices are expected.
  void DevicePluginEnabled();

  // Sets a variable in every present container without one of that name.
  void EnvEverywhere(std::string_view name, std::string_view value);

  // A label of the DaemonSet only.
  void LabelSet(std::string_view key, std::string_view value);

  // The first container. References stay valid.
  Container& main() { return containers_.front(); }
  // The container of that name, or nullptr.
  Container* Find(std::string_view name);
  // Further ones, in order; `image` has the section's pull policy.
  Container& AddContainer(std::string_view name, const std::string& image);
  Container& AddInit(std::string_view name, const std::string& image);

  // Names of Secrets, in addition to the section's and, if a container runs this release's image,
  // the operator's; each once.
  void AddPullSecrets(const std::vector<std::string>& names);

  // The pull policy of a further container with its own image.
  void SetPullPolicy(Container& container, const policy::ImageSpec& image) const;

  // Updated only by deleting pods, whatever the policy says.
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
  std::string pull_policy_;    // of the section
  std::set<std::string> pull_secrets_;
  std::deque<Container> containers_;
  std::deque<Container> init_;
  bool surge_ = false;
  bool on_delete_ = false;
};

}  // namespace gantry::gpu_operator
