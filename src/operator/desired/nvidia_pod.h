// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "operator/desired/pod.h"

namespace gantry::gpu_operator {

// Whether an image is this release's, perhaps from another registry or of another tag: it has the
// same name ("gantry"). Any other counts as NVIDIA's.
bool IsOurs(const std::string& image, const std::string& ours);
// Whether an operand's section selects such an image.
bool RunsOurs(const Context& context, const policy::OperandSpec& spec);

// A ServiceAccount, a Role and, with cluster rules, a ClusterRole of one name, each with its
// binding. The Role begins with the rule that OpenShift requires for privileged pods.
Objects NvidiaAccount(const Context& context, std::string_view name, std::vector<Json> rules = {},
                      std::vector<Json> cluster_rules = {});

// The same for pods with the driver manager as init container, with further cluster rules.
Objects DriverManagerAccount(const Context& context, std::string_view name,
                             std::initializer_list<Json> more_rules = {});

// A Service for the pods with the label `app` of that name.
Json NvidiaService(const Context& context, std::string_view name, std::string_view port_name,
                   int port);

Json ConfigMap(const Context& context, std::string_view name, std::string_view app, Json data);

// Probes of core/v1.
Json TcpProbe(int port, int delay_seconds);
Json HttpProbe(std::string_view path, int port, int delay_seconds);

// The pods of an operand with NVIDIA's image: with the additions that Gantry's don't need.
class NvidiaDaemonSet : public DaemonSet {
 public:
  // The main container runs the image's own entry point; main().Command changes that.
  NvidiaDaemonSet(const Context& context, std::string_view name, std::string_view container,
                  const std::string& image, const policy::OperandSpec& spec)
      : DaemonSet(context, name, container, "", image, spec), spec_(spec) {}

  // An init container of Gantry's image that waits; `words` are the arguments of await-status.
  void Await(std::string_view name, std::vector<std::string> words);
  // Waits until containers can have GPUs.
  void AwaitToolkit();
  // An init container that runs a component of the validator, with this image, as root. It writes
  // its status file to the volume run-nvidia-validations.
  Container& Validate(std::string_view component, const std::string& image, bool wait);
  // The component that waits for a driver and writes driver-ready. It also needs the volumes
  // host-root and driver-install-dir, and adds host-dev-char.
  void ValidateDriver(const std::string& image);
  // The main container of a validator, which only keeps running: the checks are init containers.
  // When its pod ends it deletes the status files (a shell pattern).
  void StayValidated(const std::string& status_files);
  // The init container that removes another driver from the node; messages name `section`.
  Result<Container*> ManageDriver(const policy::DriverManagerSpec& manager,
                                  std::string_view section);
  // Runs the script in a ConfigMap's key entrypoint.sh as the main container's program.
  void RunScript(std::string_view config_map);
  // Adds config-manager beside the main container, which reads its choice, if the policy names a
  // ConfigMap of configurations. `process` gets a signal when the choice changes. The program is in
  // the device plugin's image, if that is NVIDIA's.
  void ManageConfig(std::string_view process);

  // The object, with the section's environment, which has precedence.
  Json Finish();

 private:
  const policy::OperandSpec& spec_;
};

}  // namespace gantry::gpu_operator
