// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "operator/desired/context.h"

namespace gantry::gpu_operator {

// An object with the labels and the owner that all objects of ours carry.
Json OwnedObject(const Context& context, std::string_view api_version, std::string_view kind,
                 std::string_view name, bool namespaced);
Json ServiceAccount(const Context& context, std::string_view name);
// One rule of a Role or ClusterRole.
Json Rule(std::string_view group, std::string_view resource,
          std::initializer_list<const char*> verbs);
// A Role and its RoleBinding, or the same for the cluster, to the service account of that name.
void AddRole(Objects& objects, const Context& context, std::string_view name, Json rules);
void AddClusterRole(Objects& objects, const Context& context, std::string_view name, Json rules);

enum class HostDir { kAny, kCreate };

// A DaemonSet of one container with everything that all operands have alike. Every method sets one
// thing; Build gives the object, with the annotation that carries its hash.
class DaemonSet {
 public:
  // `command` is words with spaces between; `spec` the operand's section of the policy: its pull
  // policy, args, resources, hostNetwork.
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
  void Privileged();
  void Unprivileged();
  void HostPid();
  // A port that the container listens on.
  void Port(std::string_view name, int number);
  // Ready once the command, run in the container each second, exits with 0.
  void ReadyWhen(std::initializer_list<const char*> command);
  // New pods come up beside the old ones on a node, and have some seconds to take over, before
  // those go.
  void SurgeOnUpdate();

  void Env(std::string_view name, std::string_view value);
  void EnvFromField(std::string_view name, std::string_view field_path);
  void Env(const policy::EnvVars& variables);

  void HostPath(std::string_view volume, std::string_view path, std::string_view mount,
                HostDir create, bool read_only);
  // A folder of the host on which mounts that the container makes are seen by the host too.
  void SharedHostPath(std::string_view volume, std::string_view path, std::string_view mount);
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

  [[nodiscard]] Json Build() const;

 private:
  void Mount(std::string_view volume, std::string_view mount, bool read_only, bool propagate);

  const Context& context_;
  Json object_;
  Json pod_ = Json::object();        // the pod's spec
  Json container_ = Json::object();  // its one container
  Json env_ = Json::array();
  bool surge_ = false;
};

}  // namespace gantry::gpu_operator
