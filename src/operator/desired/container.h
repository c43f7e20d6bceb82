// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "policy/cluster_policy.h"

namespace gantry::gpu_operator {

// Who sees mounts that the other side makes later: neither, the container, both.
enum class Propagation { kNone, kFromHost, kBothWays };

struct MountAs {
  bool read_only = false;
  Propagation propagation = Propagation::kNone;
  std::string_view sub_path = {};
};
inline constexpr MountAs kReadOnly{.read_only = true};
inline constexpr MountAs kFromHost{.propagation = Propagation::kFromHost};
inline constexpr MountAs kFromHostReadOnly{.read_only = true,
                                           .propagation = Propagation::kFromHost};
inline constexpr MountAs kBothWays{.propagation = Propagation::kBothWays};

// A core/v1 Container. Every method sets one thing and returns the container.
class Container {
 public:
  using Words = std::initializer_list<const char*>;

  Container(std::string_view name, const std::string& image, std::string_view pull_policy);

  Container& Command(Words words) { return Set("command", Json(words)); }
  Container& Args(Words words) { return Set("args", Json(words)); }
  // A field of core/v1 Container.
  Container& Set(std::string_view key, Json value);
  // Arguments and resources of an operand's section, if set.
  Container& Use(const policy::OperandSpec& spec);
  // {"limits", "requests"}, or null for none.
  Container& Resources(const Json& resources);

  // Replaces an existing variable's value.
  Container& Env(std::string_view name, std::string_view value);
  Container& Env(const policy::EnvVars& variables);
  Container& EnvFromField(std::string_view name, std::string_view field_path);
  [[nodiscard]] bool HasEnv(std::string_view name) const;
  // The value of a variable that was set to a string; empty if there is none.
  [[nodiscard]] std::string EnvValue(std::string_view name) const;

  Container& Mount(std::string_view volume, std::string_view path, const MountAs& as = {});
  Container& Port(std::string_view name, int number);
  Container& Privileged() { return Set("securityContext", {{"privileged", true}}); }
  // In addition to its rights: else SELinux would deny access to the host's files.
  Container& AtLevel0();
  Container& PrivilegedAtLevel0() { return Privileged().AtLevel0(); }
  // In addition to its rights: user 0, whatever the image's user.
  Container& AsRoot();
  Container& Unprivileged();
  Container& BeforeStop(Words command);
  // The kubelet reports it as running this long after its start, without running a program
  // (PodLifecycleSleepAction, on since Kubernetes 1.30).
  Container& PauseAfterStart(int seconds);

  [[nodiscard]] std::string name() const { return TextAt(json_, "name"); }
  [[nodiscard]] std::string image() const { return TextAt(json_, "image"); }
  [[nodiscard]] std::string pull_policy() const { return TextAt(json_, "imagePullPolicy"); }
  [[nodiscard]] Json Build() const;

 private:
  Json json_;
  Json env_ = Json::array();
};

}  // namespace gantry::gpu_operator
