// SPDX-License-Identifier: Apache-2.0
// Why does a pod not start on its node? From the kubelet's events, which repeat those of
// containerd, CRI-O and the CDI library, and of the kubelet's own admission.
#include "doctor/start_findings.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>

#include "base/text.h"
#include "policy/reasons.h"

namespace gantry::doctor {
namespace {

struct StartMeaning {
  std::string_view words;
  std::string_view code;
  std::string_view message;
  std::string_view remedy;
  bool of_gpus = false;        // only for pods with GPUs
  std::string_view also = "";  // words that must also occur
};

constexpr char kNoToolkit[] =
    "toolkit.enabled is false in the ClusterPolicy: install NVIDIA's Container Toolkit on the "
    "node, "
    "or set toolkit.enabled=true";

constexpr char kNoHandler[] =
    "can't start: the node's container runtime has no handler of that name";
constexpr char kNoOtherHandler[] =
    "can't start: the node's container runtime has no handler of its RuntimeClass";
constexpr char kOtherHandler[] =
    "use the RuntimeClass nvidia, or none (CDI needs none), or add the handler to the container "
    "runtime's configuration";
constexpr char kFileGone[] =
    "can't start: a driver file that it mounts no longer exists on the node";

constexpr std::array kStartMeanings = std::to_array<StartMeaning>({
    {"no runtime for \"nvidia", "RuntimeHandlerMissing", kNoHandler, reasons::kToolkitPodLog},
    {"failed to find runtime handler nvidia", "RuntimeHandlerMissing", kNoHandler,
     reasons::kToolkitPodLog},
    // Docker's, and those of cri-dockerd releases without handlers.
    {"invalid runtime name: nvidia", "RuntimeHandlerMissing", kNoHandler, reasons::kToolkitPodLog},
    {"Unknown runtime specified nvidia", "RuntimeHandlerMissing", kNoHandler,
     reasons::kToolkitPodLog},
    {"RuntimeHandler \"nvidia", "RuntimeHandlerMissing", kNoHandler, reasons::kToolkitPodLog, false,
     "not supported"},
    // For a RuntimeClass with another handler.
    {"no runtime for \"", "RuntimeHandlerMissing", kNoOtherHandler, kOtherHandler, true},
    {"failed to find runtime handler", "RuntimeHandlerMissing", kNoOtherHandler, kOtherHandler,
     true},
    {"invalid runtime name: ", "RuntimeHandlerMissing", kNoOtherHandler, kOtherHandler, true},
    {"RuntimeHandler \"", "RuntimeHandlerMissing", kNoOtherHandler, kOtherHandler, true,
     "not supported"},
    {"unresolvable CDI devices", "CdiDevicesUnknown",
     "can't start: the node's container runtime does not know its CDI devices",
     "check that CDI is enabled in the container runtime, and that /var/run/cdi is one of its CDI "
     "directories"},
    {"failed to stat CDI host device", "CdiStale",
     "can't start: the node's CDI document names a missing device", reasons::kToolkitPodLog},
    // The hook compares the image's requirements.
    {"unsatisfied condition: cuda", "DriverTooOld",
     "can't start: its image needs a newer driver than the node has",
     "use an image with an older CUDA, or install a newer driver on the nodes "
     "(nvidia.com/cuda.runtime-version.full is the CUDA that a node supports)"},
    {"nvidia-container-cli", "RuntimeHookFails",
     "can't start: NVIDIA's hook fails, which the node's container runtime calls",
     reasons::kToolkitPodLog},
    {"nvidia-container-runtime", "RuntimeHookFails",
     "can't start: nvidia-container-runtime fails on the node", reasons::kToolkitPodLog},
    {"nvidia-cdi-hook", "RuntimeHookFails", "can't start: nvidia-cdi-hook fails on the node",
     reasons::kToolkitPodLog},
    // CDI documents of older releases run this.
    {"nvidia-ctk", "RuntimeHookFails", "can't start: the hook nvidia-ctk fails on the node",
     reasons::kToolkitPodLog},
    // Images do not contain nvidia-smi: it comes with the GPU. As runc and crun write it.
    {"\"nvidia-smi\": executable file not found", kNotInContainer,
     "can't start: it was given a GPU, but has no driver files", kGiveByRuntime, true},
    {"executable file `nvidia-smi` not found", kNotInContainer,
     "can't start: it was given a GPU, but has no driver files", kGiveByRuntime, true},
});

// A missing driver file to mount, in the messages of runc since 1.2, of earlier ones, and of crun.
bool LacksDriverFile(std::string_view words) {
  static constexpr std::array<std::string_view, 3> kMounts = {
      "failed to fulfil mount request: ", "error mounting \"", "cannot stat `"};
  static constexpr std::array<std::string_view, 6> kFiles = {
      "libnvidia",   "libcuda.so",        "_nvidia.so",
      "bin/nvidia-", "/firmware/nvidia/", "nvidia-persistenced"};
  const auto named = [words](std::string_view each) {
    return words.find(each) != std::string_view::npos;
  };
  return std::ranges::any_of(kMounts, named) && std::ranges::any_of(kFiles, named) &&
         named("o such file");
}

Finding Rejected(const RejectionFacts& rejection) {
  if (rejection.message.find("maximum request size for shared resources is 1") !=
      std::string::npos) {
    return Problem("SharedRequestTooLarge", rejection.object,
                   "requests more than one share of a GPU, which gives no more of it",
                   "request 1, or set failRequestsGreaterThanOne: false");
  }
  if (rejection.message.find("Topology") != std::string::npos) {
    return Problem("TopologyRefuses", rejection.object,
                   format("node {} did not admit it: {}", rejection.node, rejection.message),
                   "request CPUs, memory and GPUs that a single NUMA node has, or relax "
                   "topologyManagerPolicy of the kubelets");
  }
  // A controller replaces its pod, so many of them are the problem.
  const auto make = rejection.owner.empty() ? Problem : Note;
  return make("PodRejected", rejection.object,
              format("node {} did not admit it, and it stays failed: {}", rejection.node,
                     rejection.message),
              "delete it, so that its owner creates another; the node had no GPU ready while its "
              "kubelet or device plugin started");
}

}  // namespace

bool InstallsToolkit(const ClusterFacts& cluster) {
  return std::ranges::none_of(cluster.policies, [](const PolicyFacts& policy) {
    return policy.state != "ignored" && !policy.installs_toolkit;
  });
}

std::optional<Finding> StartFailure(std::string_view words, bool wants_gpus, bool toolkit) {
  const auto remedy = [toolkit](std::string_view usual) {
    return std::string(!toolkit && usual == reasons::kToolkitPodLog ? kNoToolkit : usual);
  };
  if (LacksDriverFile(words)) {
    return Problem("CdiStale", "", kFileGone, remedy(reasons::kToolkitPodLog));
  }
  const auto found = std::ranges::find_if(kStartMeanings, [&](const StartMeaning& meaning) {
    return words.find(meaning.words) != std::string_view::npos &&
           words.find(meaning.also) != std::string_view::npos && (wants_gpus || !meaning.of_gpus);
  });
  if (found == kStartMeanings.end()) {
    return std::nullopt;
  }
  return Problem(std::string(found->code), "", std::string(found->message), remedy(found->remedy));
}

void ExamineStarts(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  const bool toolkit = InstallsToolkit(cluster);
  for (const StartFacts& start : cluster.starts) {
    if (std::optional<Finding> finding = StartFailure(start.message, start.wants_gpus, toolkit)) {
      finding->object = start.object + (start.node.empty() ? "" : " on " + start.node);
      findings.push_back(*std::move(finding));
    }
  }
  std::map<std::pair<std::string, std::string>, size_t> first;  // owner and code -> finding
  std::map<size_t, int> more;
  for (const RejectionFacts& rejection : cluster.rejections) {
    if (rejection.at < Rfc3339(cluster.now - kRecent)) {
      continue;
    }
    Finding finding = Rejected(rejection);
    const std::string owner = rejection.owner.empty() ? rejection.object : rejection.owner;
    const auto [at, added] = first.emplace(std::pair(owner, finding.code), findings.size());
    if (added) {
      findings.push_back(std::move(finding));
    } else {
      ++more[at->second];
    }
  }
  constexpr int kMany = 3;
  for (const auto& [index, count] : more) {
    findings[index].object += format(" and {} more of its owner", count);
    if (count + 1 >= kMany) {
      findings[index].severity = Severity::kProblem;
    }
  }
}

Finding LacksFolder(std::string_view words) {
  constexpr std::string_view kFailed = "hostPath type check failed: ";
  constexpr std::string_view kNot = " is not a";
  const size_t at = words.find(kFailed);
  const size_t end = words.find(kNot, at == std::string_view::npos ? 0 : at);
  if (at == std::string_view::npos || end == std::string_view::npos) {
    return {};
  }
  const std::string path(words.substr(at + kFailed.size(), end - at - kFailed.size()));
  const std::vector<std::string> quoted = Split(words, '"');
  const std::string volume = quoted.size() > 1 ? quoted[1] : "";
  std::string remedy = "create it on the node, or correct the path in the setting that names it";
  if (volume == "pod-resources" || volume == "pod-gpu-resources") {
    remedy =
        "set hostPaths.kubeletRootDir to the --root-dir of the node's kubelet, which creates "
        "pod-resources in it";
  } else if (volume == "device-plugin") {
    remedy =
        "check the kubelet there, which creates it whatever its --root-dir is; if it listens below "
        "its root directory, set hostPaths.kubeletRootDir to that";
  } else if (volume == "host-root") {
    remedy = "set hostPaths.rootFS to the root of the host, mostly /";
  } else if (volume.ends_with("-socket")) {
    remedy =
        "set the socket of the container runtime in toolkit.env (CONTAINERD_SOCKET, "
        "DOCKER_SOCKET, CRIO_SOCKET)";
  }
  Finding finding =
      Problem("HostFolderMissing", "",
              format("needs the host directory {}, which does not exist", path), std::move(remedy));
  finding.cause = path;
  return finding;
}

}  // namespace gantry::doctor
