// SPDX-License-Identifier: Apache-2.0
// Why does a container not run? From what the kubelet says of it and from the end of its log. The
// words looked for are those of the kubelet, containerd, CRI-O, NVIDIA's driver container, its
// installer, CUDA and the kernel; what is in nobody's table is told as it is, by the kubelet's
// words.
#include "doctor/container_findings.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/text.h"
#include "doctor/node_findings.h"
#include "doctor/start_findings.h"
#include "policy/names.h"

namespace gantry::doctor {
namespace {

constexpr std::chrono::minutes kInitPatience(10);

// What some words mean: a finding's parts.
struct Meaning {
  std::string_view words;
  std::string_view code;
  std::string_view message;
  std::string_view remedy;
  long long exit_code = 0;  // not 0: means it only of a container that ended so
};

const Meaning* Find(std::span<const Meaning> meanings, std::string_view text,
                    long long exit_code = 0) {
  const auto found = std::ranges::find_if(meanings, [&](const Meaning& meaning) {
    return text.find(meaning.words) != std::string_view::npos &&
           (meaning.exit_code == 0 || meaning.exit_code == exit_code);
  });
  return found == meanings.end() ? nullptr : &*found;
}

// --- images --------------------------------------------------------------------------------------

constexpr char kPullSecret[] =
    "name a pull secret in imagePullSecrets of its section, and look whether it is of this "
    "registry";
constexpr char kPullLess[] =
    "pull with an account of the registry (imagePullSecrets of its section), or mirror the image";
constexpr char kCorrectImage[] =
    "correct repository, image and version of its section in the ClusterPolicy";
constexpr char kEachArchitecture[] =
    "mirror it with its variants for all architectures of the nodes, or correct repository, image "
    "and version of its section";
constexpr char kMirror[] =
    "let the nodes reach the registry, or mirror the image and name it in repository, image and "
    "version of its section";

// In lower case: registries, proxies and runtimes write them in several ways.
constexpr std::array kPullErrors = std::to_array<Meaning>({
    {"proxy authentication required", "RegistryUnreachable",
     "can't be pulled: the nodes' proxy asks for an account",
     "give the container runtime's proxy setting an account, or exempt the registry from it"},
    {"toomanyrequests", "RegistryUnreachable", "can't be pulled: the registry limits how often",
     kPullLess},
    {"429 too many requests", "RegistryUnreachable",
     "can't be pulled: the registry limits how often", kPullLess},
    {"unauthorized", "RegistryDenied", "may not be pulled", kPullSecret},
    {"status: 401", "RegistryDenied", "may not be pulled", kPullSecret},
    {"statuscode: 401", "RegistryDenied", "may not be pulled", kPullSecret},
    {"402 payment required", "RegistryDenied", "may not be pulled", kPullSecret},
    {"statuscode: 402", "RegistryDenied", "may not be pulled", kPullSecret},
    {"403 forbidden", "RegistryDenied", "may not be pulled", kPullSecret},
    {"403 (forbidden)", "RegistryDenied", "may not be pulled", kPullSecret},
    {"statuscode: 403", "RegistryDenied", "may not be pulled", kPullSecret},
    {"requested access to the resource is denied", "RegistryDenied", "may not be pulled",
     kPullSecret},
    {"no basic auth credentials", "RegistryDenied", "may not be pulled", kPullSecret},
    {"authorization failed", "RegistryDenied", "may not be pulled", kPullSecret},
    {"authentication required", "RegistryDenied", "may not be pulled", kPullSecret},
    {"x509", "RegistryUnreachable", "can't be pulled: the registry's certificate is not trusted",
     "give the nodes' container runtime the registry's certificate"},
    {"http response to https client", "RegistryUnreachable",
     "can't be pulled: the registry speaks HTTP without TLS",
     "give the registry TLS, or name it in the nodes' container runtime as one without"},
    {"proxyconnect", "RegistryUnreachable", "can't be pulled: the nodes' proxy does not answer",
     "correct the proxy of the nodes' container runtime, or exempt the registry from it"},
    {"no such host", "RegistryUnreachable", "can't be pulled", kMirror},
    {"server misbehaving", "RegistryUnreachable", "can't be pulled", kMirror},
    {"i/o timeout", "RegistryUnreachable", "can't be pulled", kMirror},
    {"tls handshake timeout", "RegistryUnreachable", "can't be pulled", kMirror},
    {"client.timeout", "RegistryUnreachable", "can't be pulled", kMirror},
    {"context deadline exceeded", "RegistryUnreachable", "can't be pulled", kMirror},
    {"connection refused", "RegistryUnreachable", "can't be pulled", kMirror},
    {"connection timed out", "RegistryUnreachable", "can't be pulled", kMirror},
    {"connection reset", "RegistryUnreachable", "can't be pulled", kMirror},
    {"no route to host", "RegistryUnreachable", "can't be pulled", kMirror},
    {"network is unreachable", "RegistryUnreachable", "can't be pulled", kMirror},
    {"500 internal server error", "RegistryUnreachable", "can't be pulled", kMirror},
    {"502 bad gateway", "RegistryUnreachable", "can't be pulled", kMirror},
    {"503 service unavailable", "RegistryUnreachable", "can't be pulled", kMirror},
    {"504 gateway", "RegistryUnreachable", "can't be pulled", kMirror},
    {"\": eof", "RegistryUnreachable", "can't be pulled", kMirror},
    // As containerd, Docker and CRI-O say it.
    {"no match for platform", "ImageMissing", "is not made for the node's architecture",
     kEachArchitecture},
    {"no matching manifest for", "ImageMissing", "is not made for the node's architecture",
     kEachArchitecture},
    {"no image found in image index for architecture", "ImageMissing",
     "is not made for the node's architecture", kEachArchitecture},
    {"no image found in manifest list for architecture", "ImageMissing",
     "is not made for the node's architecture", kEachArchitecture},
});

// The kubelet's reasons that say it themselves.
constexpr std::array kPullReasons = std::to_array<Meaning>({
    {"RegistryUnavailable", "RegistryUnreachable", "can't be pulled", kMirror},
    {"SignatureValidationFailed", "ImageNotTrusted",
     "has no signature that the nodes' container runtime trusts",
     "sign it, or correct the runtime's policy for signatures"},
    {"InvalidImageName", "ImageNameInvalid", "has a name that no image can have", kCorrectImage},
    {"ErrImageNeverPull", "ImageMissing",
     "is not on the node, and its imagePullPolicy lets nobody pull it",
     "bring it to the nodes, or set imagePullPolicy of its section in the ClusterPolicy"},
});

bool WaitsForImage(const ContainerFacts& container) {
  return container.waiting == "ImagePullBackOff" || container.waiting == "ErrImagePull" ||
         Find(kPullReasons, container.waiting) != nullptr;
}

bool SaysMissing(std::string_view words) {
  return words.find("not found") != std::string_view::npos ||
         words.find("manifest unknown") != std::string_view::npos ||
         words.find("name unknown") != std::string_view::npos ||
         words.find("repository name not known") != std::string_view::npos;
}

// The host that an image is pulled from, as Docker's reference grammar has it.
std::string RegistryOf(std::string_view image) {
  const std::string_view first = image.substr(0, image.find('/'));
  const bool is_host =
      first.size() < image.size() &&
      (first.find_first_of(".:") != std::string_view::npos || first == "localhost");
  return is_host ? std::string(first) : "docker.io";
}

Finding NotPulled(const ContainerFacts& container) {
  const std::string words = Lower(container.message);
  const Meaning* meaning = Find(kPullErrors, words);
  if (meaning == nullptr) {
    meaning = Find(kPullReasons, container.waiting);
  }
  if (meaning != nullptr) {
    Finding finding = Problem(std::string(meaning->code), "",
                              format("its image {} {}", container.image, meaning->message),
                              std::string(meaning->remedy));
    if (finding.code == "RegistryUnreachable") {
      finding.cause = format("{}: {}", RegistryOf(container.image), finding.remedy);
    }
    return finding;
  }
  if (!SaysMissing(words)) {
    return Problem("ImageNotPulled", "",
                   format("its image {} can't be pulled: {}", container.image, container.message),
                   format("kubectl describe pod -n {} {}", container.space, container.pod));
  }
  if (BringsDriver(container.app)) {
    return Problem("DriverImageMissing", "",
                   format("there is no driver image {}: none for the node's system, or for its "
                          "kernel",
                          container.image),
                   "choose a driver.version that has one, set driver.usePrecompiled=false, or "
                   "install the driver on the nodes and set driver.enabled=false");
  }
  return Problem("ImageMissing", "", format("its image {} is not there", container.image),
                 kCorrectImage);
}

// An account that is not there is no trouble of a registry that does not answer.
Finding WithSecrets(const ContainerFacts& container, Finding finding) {
  if (!container.lacks_secrets.empty() && finding.code != "RegistryUnreachable") {
    finding.message += "; " + container.lacks_secrets.substr(0, container.lacks_secrets.find(';'));
  }
  return finding;
}

// --- the driver's container ----------------------------------------------------------------------

constexpr char kUnreachable[] = "package sources can't be reached";
constexpr char kNoHeaders[] = "no headers of the node's kernel are in the package sources";
constexpr char kHeaders[] =
    "let the nodes reach their distribution's packages for the running kernel (driver.repoConfig), "
    "or use a precompiled driver (driver.usePrecompiled=true)";
constexpr char kSecureBoot[] =
    "use a precompiled driver that is signed, enrol its key, or switch Secure Boot off";
constexpr char kOtherKernel[] =
    "keep the nodes at a kernel that the driver has modules for, take a driver.version for theirs, "
    "or set driver.usePrecompiled=false";
constexpr char kEndHolders[] =
    "end what holds a GPU there (pods, nvidia-persistenced, fabric manager, a display server), or "
    "restart the node";
constexpr char kOwnDriver[] =
    "the nodes bring a driver of their own: set driver.enabled=false, or take it off them";
constexpr char kNotCompiled[] = "DriverDoesNotCompile";
constexpr char kCompiles[] = "can't be compiled for the node's kernel";
constexpr char kOtherVersion[] =
    "take a driver.version that knows this kernel, or a precompiled driver "
    "(driver.usePrecompiled=true)";

constexpr char kNoNouveau[] = "blacklist nouveau, rebuild the initial ramdisk and restart the node";
constexpr char kTakesNone[] =
    "its module takes none of the node's GPUs: another driver holds them, or they are none for "
    "this version or for its open modules";
constexpr char kOtherDriver[] =
    "look into the node's kernel log (NVRM), which says why: take nouveau or vfio-pci off the "
    "GPUs, "
    "or choose another driver.version or driver.kernelModuleType=proprietary";

constexpr std::array kDriverLog = std::to_array<Meaning>({
    {"No precompiled package found", "DriverKernelMismatch",
     "its image has no driver for the node's kernel", kOtherKernel},
    {"appears to already be loaded", "DriverConflict",
     "another NVIDIA driver is loaded on the node already", kOwnDriver},
    {"driver is in use", "DriverInUse",
     "the driver before it is still in use and can't be unloaded", kEndHolders},
    {"unload the driver: it is in use by", "DriverInUse",
     "the driver before it is still in use and can't be unloaded", kEndHolders},
    {"unload the driver: the module ", "DriverInUse",
     "the driver before it is still in use and can't be unloaded", kEndHolders},
    {"The Nouveau kernel driver is currently in use", "GpuBoundToNouveau",
     "nouveau holds the node's GPU", kNoNouveau},
    {"is already bound to nouveau", "GpuBoundToNouveau", "nouveau holds the node's GPU",
     kNoNouveau},
    // The kernel's, of modules that are there.
    {"Key was rejected by service", "SecureBootRefuses",
     "the kernel refuses an unsigned module: Secure Boot is on", kSecureBoot},
    {"Required key not available", "SecureBootRefuses",
     "the kernel refuses an unsigned module: Secure Boot is on", kSecureBoot},
    {"Loading of unsigned module is rejected", "SecureBootRefuses",
     "the kernel refuses an unsigned module: Secure Boot is on", kSecureBoot},
    {"unsigned module loading is restricted", "SecureBootRefuses",
     "the kernel refuses an unsigned module: Secure Boot is on", kSecureBoot},
    {"could not insert 'nvidia': Operation not permitted", "SecureBootRefuses",
     "the kernel refuses an unsigned module: Secure Boot is on", kSecureBoot},
    {"Kernel module load error: Operation not permitted", "SecureBootRefuses",
     "the kernel refuses an unsigned module: Secure Boot is on", kSecureBoot},
    {"Secure boot is enabled on this system, so", "SecureBootRefuses",
     "the kernel refuses an unsigned module: Secure Boot is on", kSecureBoot},
    {"Invalid module format", "DriverKernelMismatch",
     "its modules were built for another kernel than the node's", kOtherKernel},
    {"disagrees about version of symbol", "DriverKernelMismatch",
     "its modules were built for another kernel than the node's", kOtherKernel},
    {"could not insert 'nvidia': Exec format error", "DriverKernelMismatch",
     "its modules were built for another kernel than the node's", kOtherKernel},
    {"': Unknown symbol in module", "DriverKernelMismatch",
     "its modules were built for another kernel than the node's", kOtherKernel},
    {"Module nvidia not found in directory /lib/modules/", "DriverKernelMismatch",
     "it has no module for the node's kernel", kOtherKernel},
    {"could not insert 'nvidia': No such device", "DriverTakesNoGpu", kTakesNone, kOtherDriver},
    {"Kernel module load error: No such device", "DriverTakesNoGpu", kTakesNone, kOtherDriver},
    // Where packages can't be reached the ones below are missed as well.
    {"Could not resolve host", "PackagesUnreachable", kUnreachable, kHeaders},
    {"Temporary failure resolving", "PackagesUnreachable", kUnreachable, kHeaders},
    {"Could not connect to ", "PackagesUnreachable", kUnreachable, kHeaders},
    {"Unable to connect to ", "PackagesUnreachable", kUnreachable, kHeaders},
    {"407  Proxy Authentication Required", "PackagesUnreachable",
     "package sources can't be reached: the proxy asks for an account",
     "name the proxy with an account in HTTP_PROXY and HTTPS_PROXY of driver.env"},
    {"Unable to locate package linux-objects-nvidia", "DriverKernelMismatch",
     "there is no precompiled driver for the node's kernel", kOtherKernel},
    {"Unable to locate package linux-modules-nvidia", "DriverKernelMismatch",
     "there is no precompiled driver for the node's kernel", kOtherKernel},
    {"Could not resolve Linux kernel version", "KernelHeadersMissing", kNoHeaders, kHeaders},
    {"Could not locate Linux kernel version string", "KernelHeadersMissing", kNoHeaders, kHeaders},
    {"Unable to locate package linux-headers", "KernelHeadersMissing", kNoHeaders, kHeaders},
    {"Unable to find a match: kernel", "KernelHeadersMissing", kNoHeaders, kHeaders},
    {"No match for argument: kernel", "KernelHeadersMissing", kNoHeaders, kHeaders},
    {"No package kernel-headers", "KernelHeadersMissing", kNoHeaders, kHeaders},
    {"Unable to find the kernel source tree", "KernelHeadersMissing", kNoHeaders, kHeaders},
    {"/build: No such file or directory", "KernelHeadersMissing",
     "no headers of the node's kernel are where it compiles", kHeaders},
    {"failed to reach RHEL package repositories", "PackagesUnreachable", kUnreachable, kHeaders},
    {"Failed to download metadata for repo", "PackagesUnreachable", kUnreachable, kHeaders},
    {"failed to update the dnf metadata cache", "PackagesUnreachable", kUnreachable, kHeaders},
    {"Failed to update package cache", "PackagesUnreachable", kUnreachable, kHeaders},
    {"RHEL entitlement may be improperly deployed", "PackagesUnreachable",
     "the packages of its distribution are not given to it",
     "give the nodes Red Hat's entitlement; on OpenShift let node feature discovery run on every "
     "GPU node, which the driver toolkit's image is chosen by"},
    {"E: Failed to fetch ", "PackagesUnreachable", kUnreachable, kHeaders},
    {"E: Unable to fetch some archives", "PackagesUnreachable", kUnreachable, kHeaders},
    // Last: what makes it so is above.
    {"Unable to build", kNotCompiled, kCompiles, kOtherVersion},
    {"performing the step: \"Building kernel modules\"", kNotCompiled, kCompiles, kOtherVersion},
    {"kernel module was not created", kNotCompiled, kCompiles, kOtherVersion},
    {"Bad return status for module build", kNotCompiled, kCompiles, kOtherVersion},
    {"Compiler version check failed", kNotCompiled, kCompiles, kOtherVersion},
    {"make: *** [", kNotCompiled, kCompiles, kOtherVersion},
    {"make[1]: *** [", kNotCompiled, kCompiles, kOtherVersion},
    {"Unable to load the kernel module 'nvidia.ko'", "KernelModuleNotLoaded",
     "the node's kernel does not take its module",
     "look into the node's kernel log (dmesg), which says why"},
    // A warning too, beside the cause.
    {"does not have a Release file", "PackagesUnreachable", kUnreachable, kHeaders},
    {"NO_PUBKEY", "PackagesUnreachable", "a package source is signed with a key that it lacks",
     "take a driver.version whose image has today's keys, or a precompiled driver "
     "(driver.usePrecompiled=true)"},
});

const NodeFacts* NodeOf(const ClusterFacts& cluster, const std::string& name) {
  const auto found = std::ranges::find(cluster.nodes, name, &NodeFacts::name);
  return found == cluster.nodes.end() ? nullptr : &*found;
}

std::string Validation(const ClusterFacts& cluster, const std::string& node) {
  const NodeFacts* facts = NodeOf(cluster, node);
  return facts == nullptr ? "" : ValueOf(*facts, names::kGpuValidation);
}

std::string LogsOf(const ContainerFacts& container) {
  return format("kubectl logs -n {} {} -c {} --previous", container.space, container.pod,
                container.container);
}

constexpr char kInUse[] = "DriverInUse";
constexpr char kFails[] = "DriverContainerFails";

Finding Crashing(const ClusterFacts& cluster, const ContainerFacts& container) {
  const std::string ended =
      format("container {} ends again and again ({}, exit code {})", container.container,
             container.ended.empty() ? "Error" : container.ended, container.exit_code);
  if (BringsDriver(container.app)) {
    const NodeFacts* node = NodeOf(cluster, container.node);
    // The validator finds a driver that works, and this one is not it.
    const bool other = node != nullptr && !IsChanging(*node) &&
                       ValueOf(*node, names::kGpuValidation) == names::kValidationReady;
    const Meaning* meaning = Find(kDriverLog, container.log + container.last_words);
    if (meaning != nullptr && !(other && meaning->code == kInUse)) {
      return Problem(std::string(meaning->code), "", std::string(meaning->message),
                     std::string(meaning->remedy));
    }
    if (other) {
      return Problem("DriverConflict", "", "the node has a driver that works, and " + ended,
                     kOwnDriver);
    }
    return Problem(kFails, "", ended, LogsOf(container));
  }
  if (container.app.starts_with("nvidia-dcgm")) {
    return Problem("ExporterCrashing", "",
                   ended + ": metrics are missing, and pods with GPUs are not touched",
                   "it ends when the driver is restarted or a GPU is reset under it; if it stays "
                   "so: " +
                       LogsOf(container));
  }
  return Problem("OperandCrashing", "",
                 NeverRan(container) ? ended + ": " + container.last_words : ended,
                 LogsOf(container));
}

bool IsNvidiaDrivers(std::string_view app) {
  return BringsDriver(app) && !app.starts_with("nvidia-driver-daemonset");
}

// Field after field; each may be there several times.
using Fields = std::span<const std::pair<std::string_view, std::string_view>>;

std::string Reworded(std::string remedy, Fields fields) {
  for (const auto& [field, other] : fields) {
    for (size_t at = remedy.find(field); at != std::string::npos;
         at = remedy.find(field, at + other.size())) {
      remedy.replace(at, field.size(), other);
    }
  }
  return remedy;
}

// The remedy in the fields of an NVIDIADriver.
std::string ForNvidiaDriver(std::string remedy) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kFields = {{
      {"set driver.enabled=false", "leave the nodes out of its NVIDIADriver's nodeSelector"},
      {"its section in the ClusterPolicy", "its NVIDIADriver"},
      {"its section", "its NVIDIADriver"},
      {"driver.version", "spec.version of its NVIDIADriver"},
      {"driver.usePrecompiled", "spec.usePrecompiled"},
      {"driver.repoConfig", "spec.repoConfig"},
      {"driver.kernelModuleType", "spec.kernelModuleType"},
      {"driver.env", "spec.env"},
  }};
  return Reworded(std::move(remedy), kFields);
}

// The operator's image is node feature discovery's too, which the ClusterPolicy has no section for.
bool IsOfOperatorsImage(std::string_view app) {
  return app == kOperatorApp || app == "nvidia-node-feature-discovery-worker";
}

// --- any operand
// -----------------------------------------------------------------------------------

bool RanOutOfMemory(const ClusterFacts& cluster, const ContainerFacts& container) {
  return container.ended == "OOMKilled" && container.ended_at >= Rfc3339(cluster.now - kRecent);
}

// Waits for what a node lacks; the node's own finding says that. For GPUs that the kubelet is to
// offer no operand waits: one that does not run may be why there are none.
bool IsConsequence(const ClusterFacts& cluster, const ContainerFacts& container) {
  const NodeFacts* node = NodeOf(cluster, container.node);
  const std::string validation = Validation(cluster, container.node);
  return node == nullptr || !node->ready || IsInstalling(cluster, *node) ||
         (!validation.empty() && validation != names::kValidationReady &&
          validation != "NoGpuAllocatable" && validation != "KubeletDoesNotAnswer");
}

// A ConfigMap or Secret, or a key of one, that is not there.
bool LacksItsVolume(const ContainerFacts& container) {
  return container.waiting == kContainerCreating &&
         (container.message.find("not found") != std::string::npos ||
          container.message.find("references non-existent") != std::string::npos);
}

std::optional<Finding> OfOperand(const ClusterFacts& cluster, const ContainerFacts& container) {
  if (RanOutOfMemory(cluster, container)) {
    return Problem(
        "OperandOutOfMemory", "",
        format("container {} was ended for want of memory{}, {} restarts so far",
               container.container,
               container.memory_limit.empty() ? "" : " (limit " + container.memory_limit + ")",
               container.restarts),
        "raise resources.limits.memory of its section in the ClusterPolicy");
  }
  if (WaitsForImage(container)) {
    return WithSecrets(container, NotPulled(container));
  }
  if (Finding lacking = LacksFolder(container.message);
      container.waiting == kContainerCreating && !lacking.code.empty()) {
    return lacking;
  }
  std::optional<Finding> failure =
      StartFailure(NeverRan(container) ? container.last_words : container.message, false,
                   InstallsToolkit(cluster));
  if (failure && !container.waiting.empty()) {
    return IsConsequence(cluster, container) ? std::nullopt : std::move(failure);
  }
  if (EndsAgain(container, cluster.now)) {
    return Crashing(cluster, container);
  }
  const bool waits_long =
      !container.since.empty() && container.since < Rfc3339(cluster.now - kInitPatience);
  const bool being_made = container.waiting == kContainerCreating;
  if ((container.waiting.empty() || being_made) && !LacksItsVolume(container)) {
    if (!waits_long || IsConsequence(cluster, container)) {
      return std::nullopt;
    }
    return Problem(
        "OperandStuck", "",
        format("{} {} {} since {}{}", container.init ? "init container" : "container",
               container.container, being_made ? "is being made" : "waits", container.since,
               container.message.empty() ? "" : ": " + container.message),
        format("kubectl describe pod -n {} {}", container.space, container.pod));
  }
  // CreateContainerConfigError, RunContainerError and others: the kubelet says why.
  return Problem(
      "OperandNotStarted", "",
      format("container {}: {}: {}", container.container, container.waiting, container.message),
      "make the ConfigMap or Secret that it names, or look at the container runtime");
}

std::string OperandName(const ContainerFacts& container) {
  if (container.app == kOperatorApp) {
    return format("Deployment {}/{}", container.space, container.app);
  }
  return container.app.empty() ? format("pod {}/{}", container.space, container.pod)
                               : "DaemonSet " + container.app;
}

std::string Places(const std::set<std::string>& nodes) {
  constexpr size_t kShown = 5;
  std::vector<std::string> shown;
  for (const std::string& node : nodes) {
    if (shown.size() == kShown) {
      return format("{} and {} more", Join(shown, ", "), nodes.size() - kShown);
    }
    shown.push_back(node);
  }
  return Join(shown, ", ");
}

// Logs are read of a few containers of an operand: the others end for the same reason.
std::vector<const ContainerFacts*> LogsFirst(const std::vector<ContainerFacts>& containers) {
  std::vector<const ContainerFacts*> read;
  std::vector<const ContainerFacts*> unread;
  for (const ContainerFacts& container : containers) {
    (container.log.empty() ? unread : read).push_back(&container);
  }
  read.insert(read.end(), unread.begin(), unread.end());
  return read;
}

// --- workloads
// -------------------------------------------------------------------------------------

constexpr char kNewerDriver[] =
    "take an image with an older CUDA, or bring a newer driver to the nodes "
    "(nvidia.com/cuda.runtime-version.full says what theirs can)";
// CUDA's words where it finds no driver's library, too.
constexpr std::string_view kInsufficient = "driver version is insufficient for CUDA runtime";
constexpr char kNewerOrGiven[] =
    "take an image with an older CUDA, or bring a newer driver to the nodes "
    "(nvidia.com/cuda.runtime-version.full says what theirs can); if theirs can, it was not given "
    "to the container: look whether CDI is switched on in the container runtime";
constexpr char kStartAnew[] =
    "delete the pod; if it happens again after `systemctl daemon-reload` on the node, its devices "
    "do not come by CDI: look at cdi.enabled and the runtime class";

constexpr char kBlind[] = "was given a GPU and does not see it";

constexpr char kFabric[] = "FabricManagerNotReady";
constexpr char kNoFabric[] = "finds the NVSwitch system of its node not initialised";
constexpr char kStartFabric[] =
    "start nvidia-fabricmanager on the node, in the driver's version, then delete the pod";

// The shell's words for a command that is not there, and its exit code for it.
constexpr long long kNoCommand = 127;
constexpr char kNoSmi[] = "was given a GPU, and nvidia-smi did not come with it";
constexpr char kGiveSmi[] =
    "look whether CDI is switched on in the node's container runtime, which runtime the pod gets "
    "(runtimeClassName, the default one), and whether its NVIDIA_DRIVER_CAPABILITIES have utility";
// nvidia-smi's own.
constexpr long long kNothingFound = 6;

constexpr char kNoNvml[] = "was given a GPU, and libnvidia-ml.so.1 did not come with it";

constexpr char kFaulty[] = "GpuMemoryFaulty";
constexpr char kMemoryFault[] = "met a fault of its GPU's memory that can't be corrected (ECC)";
constexpr char kExchange[] =
    "cordon the node, look at `nvidia-smi -q -d ECC,ROW_REMAPPER` and its kernel log (Xid 48, 63, "
    "94, 95) there, and reset the GPU or have it exchanged";

constexpr std::array kWorkloadLog = std::to_array<Meaning>({
    {"CUDA out of memory", "GpuMemoryExhausted", "", ""},
    {"CUDA_ERROR_OUT_OF_MEMORY", "GpuMemoryExhausted", "", ""},
    {"CUDA error: out of memory", "GpuMemoryExhausted", "", ""},
    {"cudaErrorMemoryAllocation", "GpuMemoryExhausted", "", ""},
    {"CUDA failure 2: out of memory", "GpuMemoryExhausted", "", ""},
    {"cudaMalloc failed: out of memory", "GpuMemoryExhausted", "", ""},
    {"CUBLAS_STATUS_ALLOC_FAILED", "GpuMemoryExhausted", "", ""},
    {"RESOURCE_EXHAUSTED: Out of memory", "GpuMemoryExhausted", "", ""},
    {"OOM when allocating tensor", "GpuMemoryExhausted", "", ""},
    {"less than desired GPU memory utilization", "GpuMemoryExhausted", "", ""},
    {"No available memory for the cache blocks", "GpuMemoryExhausted", "", ""},
    {"(error code out of memory)", "GpuMemoryExhausted", "", ""},
    {"Cuda failure 'out of memory'", "GpuMemoryExhausted", "", ""},
    {"Cuda failure 2 'out of memory'", "GpuMemoryExhausted", "", ""},
    {"OutOfMemoryError: Out of memory allocating", "GpuMemoryExhausted", "", ""},
    {"CUDA driver error: out of memory", "GpuMemoryExhausted", "", ""},
    {"cuda runtime error (2) : out of memory", "GpuMemoryExhausted", "", ""},
    {"CUDA Error: out of memory", "GpuMemoryExhausted", "", ""},
    {"out_of_memory: CUDA error", "GpuMemoryExhausted", "", ""},
    {"Cuda Runtime (out of memory)", "GpuMemoryExhausted", "", ""},
    {"uncorrectable ECC error encountered", kFaulty, kMemoryFault, kExchange},
    {"CUDA_ERROR_ECC_UNCORRECTABLE", kFaulty, kMemoryFault, kExchange},
    {"cudaErrorECCUncorrectable", kFaulty, kMemoryFault, kExchange},
    {"no kernel image is available for execution on the device", "ImageNotForGpu",
     "its image has no code for the GPU that it was given",
     "take an image that is built for it (nvidia.com/gpu.compute.major and .minor of the node say "
     "what it is), or select nodes with another GPU (nvidia.com/gpu.product)"},
    {"Failed to initialize NVML: Unknown Error", "GpuLostInContainer",
     "lost the way to its GPU while it ran", kStartAnew},
    {kInsufficient, "DriverTooOld", "finds no driver that can run its CUDA", kNewerOrGiven},
    {"The NVIDIA driver on your system is too old", "DriverTooOld",
     "its image needs a newer driver than the node has", kNewerDriver},
    {"provided PTX was compiled with an unsupported toolchain", "DriverTooOld",
     "its image needs a newer driver than the node has", kNewerDriver},
    {"forward compatibility was attempted on non supported HW", "DriverTooOld",
     "its image brings CUDA compatibility libraries that this GPU can't use", kNewerDriver},
    {"Failed to initialize NVML: Driver/library version mismatch", "VersionMismatch",
     "has the libraries of another driver than the node's kernel module is of",
     "delete the pod, so that its containers get those of today; if it happens again, restart the "
     "node"},
    {"unsupported display driver / cuda driver combination", "VersionMismatch",
     "has a libcuda that does not go with the node's driver",
     "take CUDA's compatibility libraries out of its image (LD_LIBRARY_PATH), or delete the pod if "
     "the node's driver was changed since it started"},
    {"system not yet initialized", kFabric, kNoFabric, kStartFabric},
    {"cudaErrorSystemNotReady", kFabric, kNoFabric, kStartFabric},
    {"CUDA_ERROR_SYSTEM_NOT_READY", kFabric, kNoFabric, kStartFabric},
    {"Failed to initialize NVML: Insufficient Permissions", "GpuNotPermitted",
     "may not open the device nodes of its GPU",
     "let it run in the group that they have on the node (securityContext.supplementalGroups), or "
     "open them (NVreg_DeviceFileMode of the kernel module)"},
    // Last: what makes it so is above.
    {"Found no NVIDIA driver on your system", kNotInContainer, kBlind, kGiveByRuntime},
    {"libcuda.so.1: cannot open shared object file", kNotInContainer, kBlind, kGiveByRuntime},
    {"couldn't find libnvidia-ml.so", kNotInContainer, kBlind, kGiveByRuntime},
    {"couldn't communicate with the NVIDIA driver", kNotInContainer, kBlind, kGiveByRuntime},
    {"no CUDA-capable device is detected", kNotInContainer, kBlind, kGiveByRuntime},
    {"No CUDA GPUs are available", kNotInContainer, kBlind, kGiveByRuntime},
    {"CUDA unknown error - this may be due to an incorrectly set up environment", kNotInContainer,
     kBlind, kGiveByRuntime},
    {"Failed to infer device type", kNotInContainer, kBlind, kGiveByRuntime},
    {"libnvidia-ml.so.1: cannot open shared object file", kNotInContainer, kNoNvml, kGiveSmi},
    {"NVML Shared Library Not Found", kNotInContainer, kNoNvml, kGiveSmi},
    {"No devices were found", kNotInContainer, kBlind, kGiveByRuntime, kNothingFound},
    {"No devices found.", kNotInContainer, kBlind, kGiveByRuntime, kNothingFound},
    // dash and busybox, bash.
    {"nvidia-smi: not found", kNotInContainer, kNoSmi, kGiveSmi, kNoCommand},
    {"nvidia-smi: command not found", kNotInContainer, kNoSmi, kGiveSmi, kNoCommand},
});

constexpr Meaning kNotFoundHere = {
    kInsufficient, kNotInContainer,
    "was given a GPU, and finds no driver that can run its CUDA, on a node that has one",
    "look whether CDI is switched on in the node's container runtime, or which runtime the pod "
    "gets (runtimeClassName, the default one); if its CUDA is newer than the node's "
    "nvidia.com/cuda.runtime-version.full, take an older one or a newer driver"};

std::optional<Finding> OfWorkload(const ClusterFacts& cluster, const ContainerFacts& container) {
  const Meaning* meaning = Find(kWorkloadLog, container.log, container.exit_code);
  if (meaning == nullptr) {
    return std::nullopt;
  }
  const std::string word = Validation(cluster, container.node);
  const bool ready = word == names::kValidationReady;
  if (ready && meaning->words == kInsufficient) {
    meaning = &kNotFoundHere;
  }
  const bool of_node = meaning->code == kNotInContainer || meaning->code == kFabric;
  if (of_node && !word.empty() && !ready) {
    return std::nullopt;  // nobody sees it there, and the node's own finding says why
  }
  const std::string object =
      format("pod {}/{}", container.space, container.pod) +
      (meaning->code == kFaulty && !container.node.empty() ? " on " + container.node : "");
  if (meaning->code != "GpuMemoryExhausted") {
    return Problem(std::string(meaning->code), object, std::string(meaning->message),
                   std::string(meaning->remedy));
  }
  const NodeFacts* node = NodeOf(cluster, container.node);
  const std::string sharing = node == nullptr ? "" : ValueOf(*node, names::kGpuSharingStrategy);
  if (sharing == "mps") {
    return Problem("GpuMemoryExhausted", object,
                   "needs more memory than its share of a GPU, which MPS limits",
                   "run fewer pods on a GPU (replicas), or give it a smaller task");
  }
  if (sharing == "time-slicing") {
    return Problem(
        "GpuMemoryExhausted", object,
        "finds no free memory on a GPU that it shares by time-slicing, where nothing "
        "limits what its neighbours take",
        "run fewer pods on a GPU (replicas), or share by MPS or MIG, which limit memory");
  }
  return Problem("GpuMemoryExhausted", object, "needs more memory than its GPU has",
                 "give it a GPU with more memory, or a smaller task");
}

}  // namespace

void ExamineOperandContainers(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  std::map<std::pair<std::string, std::string>, size_t> first;        // operand and code -> finding
  std::map<std::pair<std::string, std::string>, std::string> by_log;  // and container -> code
  const size_t before = findings.size();
  for (const ContainerFacts* each : LogsFirst(cluster.operand_containers)) {
    const ContainerFacts& container = *each;
    std::optional<Finding> finding = OfOperand(cluster, container);
    if (!finding) {
      continue;
    }
    if (IsNvidiaDrivers(container.app)) {
      finding->remedy = ForNvidiaDriver(std::move(finding->remedy));
    } else if (IsOfOperatorsImage(container.app)) {
      finding->remedy = ForOperator(std::move(finding->remedy));
    }
    finding->object = OperandName(container);
    const std::pair place(finding->object, container.container);
    if (!container.log.empty()) {
      by_log.emplace(place, finding->code);
    } else if (const auto told = by_log.find(place);
               told != by_log.end() && finding->code == kFails) {
      finding->code = told->second;
    }
    const auto [at, added] =
        first.emplace(std::pair(finding->object, finding->code), findings.size());
    if (added) {
      findings.push_back(*std::move(finding));
    }
    if (!container.node.empty()) {
      findings[at->second].nodes.insert(container.node);
    }
  }
  for (size_t i = before; i < findings.size(); ++i) {
    if (!findings[i].nodes.empty()) {
      findings[i].object += " on " + Places(findings[i].nodes);
    }
  }
}

std::string ForOperator(std::string remedy) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kFields = {{
      {" in the ClusterPolicy", ""},
      {"repository, image and version of its section",
       "operator.repository, operator.image and operator.version of the chart"},
      {"imagePullSecrets of its section", "operator.imagePullSecrets of the chart"},
      {"imagePullPolicy of its section", "operator.imagePullPolicy of the chart"},
      {"resources.limits.memory of its section",
       "limits.memory in operator.resources of the chart"},
      {"resources of its section", "operator.resources of the chart"},
      {"daemonsets.priorityClassName", "operator.priorityClassName of the chart"},
  }};
  return Reworded(std::move(remedy), kFields);
}

bool SaysWhy(const ClusterFacts& cluster, const ContainerFacts& container) {
  return OfWorkload(cluster, container).has_value();
}

void ExamineWorkloadContainers(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  for (const ContainerFacts& container : cluster.workload_containers) {
    if (std::optional<Finding> finding = OfWorkload(cluster, container)) {
      findings.push_back(*std::move(finding));
    }
  }
}

}  // namespace gantry::doctor
