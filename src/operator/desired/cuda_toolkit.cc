// SPDX-License-Identifier: Apache-2.0

// What installs CUDA on the nodes? An init container with a static Gantry program copies it from
// the image or volume. Kubernetes before 1.35 mounts no image as a volume, so the program runs in
// that image. The main container offers the copies to other containers and removes unused ones.
// Neither is privileged: they are root to write one folder of the host, and spc_t because SELinux
// denies that otherwise.

#include "operator/desired/makers.h"
#include "operator/desired/nvidia_pod.h"
#include "operator/desired/pod.h"
#include "policy/cuda_source.h"
#include "policy/image.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

constexpr char kProgram[] = "/opt/gantry/gantry-cuda";
constexpr char kLent[] = "/lent/gantry-cuda";

Json RootWithoutRights() {
  return {{"allowPrivilegeEscalation", false},
          {"capabilities", {{"drop", {"ALL"}}}},
          {"readOnlyRootFilesystem", true},
          {"runAsNonRoot", false},
          {"runAsUser", 0},
          {"runAsGroup", 0},
          {"seLinuxOptions", {{"type", "spc_t"}}}};
}

// NVIDIA's programs have no hook that links CUDA into images.
bool InstallsOurHook(const Context& context) {
  const auto& toolkit = context.policy.toolkit;
  const auto image = policy::ChooseImage(toolkit.image, context.release.image, "toolkit");
  return toolkit.enabled && image.has_value() && IsOurs(image->image, context.release.image);
}

}  // namespace

Result<Objects> CudaToolkit(const Context& context, const std::string& image) {
  constexpr std::string_view kName = "nvidia-cuda-toolkit";
  const policy::ClusterPolicy& policy = context.policy;
  if (!policy.cdi) {
    return Fail(ErrorKind::kInvalid,
                "spec.cuda.enabled: containers get CUDA by CDI, and spec.cdi.enabled is false");
  }
  TRY_ASSIGN(const policy::CudaSource source,
             policy::ChooseCudaSource(policy.cuda_source, context.release.cuda_image));

  DaemonSet set(context, "nvidia-cuda-toolkit-daemonset", "nvidia-cuda-toolkit-ctr", "cuda-toolkit",
                image, policy.cuda);
  set.SelectDeployed("device-plugin");
  set.UseServiceAccount(kName, false);
  // A container's mounts show whether it still uses a copy.
  set.HostPid();
  set.main().Set("securityContext", RootWithoutRights());
  set.Env("CUDA_TOOLKIT_VERSION", source.version);
  if (InstallsOurHook(context)) {
    set.Env("NVIDIA_CDI_HOOK_PATH", policy.install_dir + "/toolkit/nvidia-cdi-hook");
  }
  set.Env(names::kVisibleDevices, "void");
  set.HostPath("cuda-root", names::kCudaRoot, names::kCudaRoot, HostDir::kCreate, false);
  set.HostPath("cdi-root", names::kCdiDir, names::kCdiDir, HostDir::kCreate, false);

  const char* program = kProgram;
  const char* from = "/cuda-source";
  if (source.volume.is_null()) {
    program = kLent;
    from = "/";
    set.Volume("lent", "emptyDir", Json::object());
    set.AddInit("lend-program", image)
        .Command({"cuda-toolkit", "--lend=/lent"})
        .Env(names::kVisibleDevices, "void")
        .Mount("lent", "/lent")
        .Set("securityContext", RootWithoutRights());
  }
  Container& copy = set.AddInit("copy-cuda", source.volume.is_null() ? source.image : image);
  copy.Set("command", {program, "--version=" + source.version, std::string("--from=") + from,
                       std::string("--to=") + names::kCudaRoot})
      .Set("securityContext", RootWithoutRights())
      .Set("terminationMessagePolicy", "FallbackToLogsOnError")
      // A CUDA image sets "all", for which a runtime would give it GPUs.
      .Env(names::kVisibleDevices, "void")
      .Mount("cuda-root", names::kCudaRoot);
  if (source.volume.is_null()) {
    copy.Mount("lent", "/lent", kReadOnly);
  } else {
    set.Volume("cuda-source", source.volume.begin().key(), source.volume.begin().value());
    copy.Mount("cuda-source", from, kReadOnly);
  }
  return Objects{ServiceAccount(context, kName), set.Build()};
}

}  // namespace gantry::gpu_operator
