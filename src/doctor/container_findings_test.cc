// SPDX-License-Identifier: Apache-2.0
#include "doctor/container_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace gantry::doctor {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ContainerFindings : public ::testing::Test {
 protected:
  ContainerFindings() {
    cluster_.now = WallTime(hours(24 * 365 * 56));
    for (const char* name : {"n1", "n2"}) {
      NodeFacts node;
      node.name = name;
      node.ready = true;
      cluster_.nodes.push_back(node);
    }
  }
  static ContainerFacts Of(const char* app, const char* waiting) {
    ContainerFacts facts;
    facts.space = "gpu-operator";
    facts.pod = "p";
    facts.app = app;
    facts.node = "n1";
    facts.container = "main";
    facts.image = "registry/x:1";
    facts.waiting = waiting;
    return facts;
  }
  static ContainerFacts Crashing(const char* app, const char* log) {
    ContainerFacts facts = Of(app, "CrashLoopBackOff");
    facts.ended = "Error";
    facts.exit_code = 1;
    facts.log = log;
    return facts;
  }
  std::vector<Finding> Operand(std::vector<ContainerFacts> containers) {
    cluster_.operand_containers = std::move(containers);
    std::vector<Finding> findings;
    ExamineOperandContainers(cluster_, findings);
    return findings;
  }
  std::vector<Finding> Workload(const ContainerFacts& container) {
    cluster_.workload_containers = {container};
    std::vector<Finding> findings;
    ExamineWorkloadContainers(cluster_, findings);
    return findings;
  }
  std::string Ago(minutes ago) const { return Rfc3339(cluster_.now - ago); }

  ClusterFacts cluster_;
};

constexpr char kDriver[] = "nvidia-driver-daemonset";
constexpr char kPlugin[] = "nvidia-device-plugin-daemonset";

TEST_F(ContainerFindings, ImagesThatDoNotCome) {
  struct Case {
    const char* app;
    const char* message;
    const char* code;
  };
  for (const auto& [app, message, code] : std::initializer_list<Case>{
           {kDriver, "manifest for registry/x:1 not found: manifest unknown", "DriverImageMissing"},
           {"nvidia-driver-daemonset-5.15.0-ubuntu22.04", "not found", "DriverImageMissing"},
           {kPlugin, "not found", "ImageMissing"},
           {kPlugin, "Back-off pulling image \"registry/x:1\"", "ImageNotPulled"},
           {kDriver, "Back-off pulling image \"registry/x:1\"", "ImageNotPulled"},
           {kPlugin,
            "Back-off pulling image \"registry/x:1\": Failed to pull image \"registry/x:1\": rpc "
            "error: code = NotFound desc = failed to resolve reference: registry/x:1: not found",
            "ImageMissing"},
           {kDriver, "failed to do request: dial tcp: lookup registry: no such host",
            "RegistryUnreachable"},
           {kPlugin, "dial tcp 10.0.0.1:443: i/o timeout", "RegistryUnreachable"},
           {kPlugin, "tls: failed to verify certificate: x509: certificate signed by unknown",
            "RegistryUnreachable"},
           {kDriver, "failed to authorize: 401 Unauthorized", "RegistryDenied"},
           {kPlugin, "unexpected status: 403 Forbidden", "RegistryDenied"},
           {kPlugin, "invalid status code from registry 403 (Forbidden)", "RegistryDenied"},
           {kPlugin, "StatusCode: 403, \"<html>\"", "RegistryDenied"},
           {kDriver, "reading manifest 1: denied: requested access to the resource is denied",
            "RegistryDenied"},
           {kPlugin, "Head \"https://x/v2/y\": no basic auth credentials", "RegistryDenied"},
           {kPlugin, "unexpected status from HEAD request: 402 Payment Required", "RegistryDenied"},
           {kDriver, "toomanyrequests: You have reached your pull rate limit",
            "RegistryUnreachable"},
           {kPlugin, "unexpected status: 429 Too Many Requests", "RegistryUnreachable"},
           {kDriver, "context deadline exceeded", "RegistryUnreachable"},
           {kDriver, "net/http: TLS handshake timeout", "RegistryUnreachable"},
           {kDriver, "net/http: request canceled (Client.Timeout exceeded while awaiting headers)",
            "RegistryUnreachable"},
           {kDriver, "dial tcp 10.0.0.1:443: connect: no route to host", "RegistryUnreachable"},
           {kDriver, "read tcp 10.0.0.1:443: read: connection reset by peer",
            "RegistryUnreachable"},
           {kDriver, "dial tcp: lookup registry on 10.0.0.1:53: server misbehaving",
            "RegistryUnreachable"},
           {kDriver, "proxyconnect tcp: dial tcp 10.0.0.2:3128: EOF", "RegistryUnreachable"},
           {kDriver, "unexpected status: 502 Bad Gateway", "RegistryUnreachable"},
           {kDriver, "http: server gave HTTP response to HTTPS client", "RegistryUnreachable"},
           {kDriver, "proxyconnect tcp: Proxy Authentication Required", "RegistryUnreachable"},
           {kDriver,
            "failed to do request: Head \"https://x/v2/y/manifests/1\": Proxy Authentication "
            "Required",
            "RegistryUnreachable"},
           {kDriver, "dial tcp 10.0.0.1:443: connect: connection timed out", "RegistryUnreachable"},
           {kDriver, "failed to do request: Head \"https://x/v2/y/manifests/1\": EOF",
            "RegistryUnreachable"},
           {kDriver, "unexpected status from HEAD request: 504 Gateway Timeout",
            "RegistryUnreachable"},
           // CRI-O's.
           {kPlugin, "reading manifest 1 in registry/x: requested access to the resource is denied",
            "RegistryDenied"},
           {kPlugin, "reading manifest 1 in registry/x: repository name not known to registry",
            "ImageMissing"},
           {kPlugin, "unauthorized: authentication required", "RegistryDenied"},
           {kPlugin, "sha256:0401 not found", "ImageMissing"},
           // Another architecture's, as containerd, Docker and CRI-O say it.
           {kDriver,
            "failed to pull and unpack image \"registry/x:1\": no match for platform in manifest: "
            "not found",
            "ImageMissing"},
           {kPlugin, "no matching manifest for linux/arm64/v8 in the manifest list entries",
            "ImageMissing"},
           {kPlugin,
            "choosing image instance: no image found in image index for architecture "
            "\"arm64\", variant \"v8\", OS \"linux\"",
            "ImageMissing"}}) {
    for (const char* waiting : {"ImagePullBackOff", "ErrImagePull"}) {
      ContainerFacts container = Of(app, waiting);
      container.message = message;
      EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, code))) << message;
    }
  }
}

TEST_F(ContainerFindings, AnImageOfAnotherArchitecture) {
  ContainerFacts container = Of(kPlugin, "ImagePullBackOff");
  container.message = "no match for platform in manifest: not found";
  EXPECT_THAT(Operand({container}),
              ElementsAre(AllOf(Field(&Finding::message, HasSubstr("the node's architecture")),
                                Field(&Finding::remedy, HasSubstr("all architectures")))));
}

TEST_F(ContainerFindings, APullSecretThatIsNotThere) {
  ContainerFacts container = Of(kPlugin, "ImagePullBackOff");
  container.lacks_secrets =
      "Unable to retrieve some image pull secrets (ngc-secret); attempting to pull the image may "
      "not succeed.";
  for (const auto& [message, told] :
       {std::pair("401 Unauthorized", true), std::pair("not found", true),
        std::pair("no such host", false)}) {
    container.message = message;
    const auto findings = Operand({container});
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].message.ends_with("image pull secrets (ngc-secret)"), told) << message;
  }
}

// Its fields are others than the policy's.
TEST_F(ContainerFindings, DriversOfNvidiaDrivers) {
  struct Case {
    const char* waiting;
    const char* words;  // of its image or in its log
    const char* remedy;
    const char* of_policy;
  };
  for (const auto& [waiting, words, remedy, of_policy] : std::initializer_list<Case>{
           {"ImagePullBackOff", "not found",
            "choose a spec.version of its NVIDIADriver that has one, set "
            "spec.usePrecompiled=false, or "
            "install the driver on the nodes and leave the nodes out of its NVIDIADriver's "
            "nodeSelector",
            "set driver.enabled=false"},
           {"ImagePullBackOff", "401 Unauthorized", "imagePullSecrets of its NVIDIADriver",
            "imagePullSecrets of its section"},
           {"CrashLoopBackOff", "No precompiled package found", "spec.usePrecompiled=false",
            "driver.usePrecompiled=false"},
           {"CrashLoopBackOff", "Could not resolve host", "spec.repoConfig", "driver.repoConfig"},
           {"CrashLoopBackOff", "could not insert 'nvidia': No such device",
            "spec.kernelModuleType=proprietary", "driver.kernelModuleType=proprietary"}}) {
    for (const auto& [app, expected] :
         {std::pair("nvidia-gpu-driver-ubuntu22.04-5d8f", remedy), std::pair(kDriver, of_policy)}) {
      ContainerFacts container = Crashing(app, words);
      container.waiting = waiting;
      container.message = words;
      EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::remedy, HasSubstr(expected))))
          << words;
    }
  }
}

// No section of the ClusterPolicy is theirs.
TEST_F(ContainerFindings, RemediesOfTheOperatorsImage) {
  struct Case {
    const char* waiting;
    const char* words;
    const char* remedy;
  };
  for (const auto& [waiting, words, remedy] : std::initializer_list<Case>{
           {"ImagePullBackOff", "not found",
            "correct operator.repository, operator.image and operator.version of the chart"},
           {"ImagePullBackOff", "no match for platform in manifest: not found",
            "correct operator.repository, operator.image and operator.version of the chart"},
           {"ImagePullBackOff", "no such host", "name it in operator.repository"},
           {"ImagePullBackOff", "401 Unauthorized",
            "a pull secret in operator.imagePullSecrets of the chart"},
           {"ErrImageNeverPull", "", "set operator.imagePullPolicy of the chart"}}) {
    for (const char* app : {"gpu-operator", "nvidia-node-feature-discovery-worker"}) {
      ContainerFacts container = Of(app, waiting);
      container.message = words;
      EXPECT_THAT(
          Operand({container}),
          ElementsAre(Field(&Finding::remedy, AllOf(HasSubstr(remedy), Not(HasSubstr("section")),
                                                    Not(HasSubstr("ClusterPolicy"))))))
          << words;
    }
  }
}

TEST_F(ContainerFindings, ImagesThatTheKubeletDoesNotPull) {
  struct Case {
    const char* waiting;
    const char* code;
  };
  for (const auto& [waiting, code] :
       std::initializer_list<Case>{{"RegistryUnavailable", "RegistryUnreachable"},
                                   {"InvalidImageName", "ImageNameInvalid"},
                                   {"ErrImageNeverPull", "ImageMissing"},
                                   {"SignatureValidationFailed", "ImageNotTrusted"}}) {
    for (const char* app : {kDriver, kPlugin}) {
      EXPECT_THAT(Operand({Of(app, waiting)}), ElementsAre(Field(&Finding::code, code)));
    }
  }
}

// The words are those of the driver's container, of its package manager and of the kernel.
TEST_F(ContainerFindings, DriversThatEnd) {
  struct Case {
    const char* log;
    const char* code;
  };
  for (const auto& [log, code] : std::initializer_list<Case>{
           {"No precompiled package found for kernel 5.15.0-91-generic", "DriverKernelMismatch"},
           {"Could not resolve Linux kernel version", "KernelHeadersMissing"},
           {"E: Unable to locate package linux-headers-5.15.0-1", "KernelHeadersMissing"},
           {"Error: Unable to find a match: kernel-headers-4.18", "KernelHeadersMissing"},
           {"curl: (6) Could not resolve host: developer.download", "PackagesUnreachable"},
           {"Temporary failure resolving 'archive'", "PackagesUnreachable"},
           {"modprobe: ERROR: could not insert 'nvidia': Key was rejected by service",
            "SecureBootRefuses"},
           {"Could not unload NVIDIA driver kernel modules, driver is in use", "DriverInUse"},
           {"unload the driver: it is in use by process 812 (python, /dev/nvidia0)", "DriverInUse"},
           {"unload the driver: the module gdrdrv uses it", "DriverInUse"},
           {"modprobe: ERROR: could not insert 'nvidia': Invalid module format",
            "DriverKernelMismatch"},
           {"nvidia: disagrees about version of symbol module_layout", "DriverKernelMismatch"},
           {"Loading of unsigned module is rejected", "SecureBootRefuses"},
           {"Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7",
            "SecureBootRefuses"},
           {"ERROR: The Nouveau kernel driver is currently in use by your system.",
            "GpuBoundToNouveau"},
           {"NVRM: GPU 0000:00:1e.0 is already bound to nouveau.\n"
            "modprobe: ERROR: could not insert 'nvidia': No such device\n"
            "ERROR: Unable to load the kernel module 'nvidia.ko'.",
            "GpuBoundToNouveau"},
           {"modprobe: ERROR: could not insert 'nvidia': No such device", "DriverTakesNoGpu"},
           {"-> Kernel module load error: No such device\n"
            "ERROR: Unable to load the kernel module 'nvidia.ko'.",
            "DriverTakesNoGpu"},
           {"modprobe: ERROR: could not insert 'nvidia': Exec format error",
            "DriverKernelMismatch"},
           {"modprobe: ERROR: could not insert 'nvidia': Unknown symbol in module, or unknown "
            "parameter (see dmesg)",
            "DriverKernelMismatch"},
           {"exec /usr/local/bin/nvidia-driver: exec format error", "DriverContainerFails"},
           {"ERROR: Unable to find the kernel source tree for the currently running kernel.",
            "KernelHeadersMissing"},
           // What is missing because packages can't be reached.
           {"W: Failed to fetch http://archive.ubuntu.com/ubuntu/dists/jammy/InRelease  Temporary "
            "failure resolving 'archive.ubuntu.com'\nCould not resolve Linux kernel version",
            "PackagesUnreachable"},
           {"W: Failed to fetch http://archive.ubuntu.com/ubuntu/dists/jammy/InRelease  Could not "
            "connect to archive.ubuntu.com:80 (10.0.0.1). - connect (111: Connection refused)\n"
            "Could not locate Linux kernel version string",
            "PackagesUnreachable"},
           {"W: Failed to fetch http://archive.ubuntu.com/ubuntu/dists/jammy/InRelease  Unable to "
            "connect to archive.ubuntu.com:http:\n"
            "E: Unable to locate package linux-headers-5.15.0-1",
            "PackagesUnreachable"},
           {"W: Failed to fetch http://archive.ubuntu.com/ubuntu/dists/jammy/InRelease  407  Proxy "
            "Authentication Required\nCould not resolve Linux kernel version",
            "PackagesUnreachable"},
           {"Could not connect to archive.ubuntu.com:80\n"
            "E: Unable to locate package linux-modules-nvidia-535-server",
            "PackagesUnreachable"},
           {"Could not locate Linux kernel version string", "KernelHeadersMissing"},
           // Packages came from elsewhere: the kernel refuses the module.
           {"W: Failed to fetch http://mirror/x  Could not connect to mirror:80\n"
            "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service",
            "SecureBootRefuses"},
           {"No package kernel-headers-5.14 available", "KernelHeadersMissing"},
           {"ERROR: Unable to build the NVIDIA kernel module.", "DriverDoesNotCompile"},
           {"ERROR: An NVIDIA kernel module 'nvidia' appears to already be loaded in your kernel.",
            "DriverConflict"},
           {"FATAL: failed to reach RHEL package repositories. ", "PackagesUnreachable"},
           {"FATAL: failed to update the dnf metadata cache", "PackagesUnreachable"},
           {"Error: Failed to download metadata for repo 'cuda-rhel9'", "PackagesUnreachable"},
           {"FATAL: failed to install elfutils packages. RHEL entitlement may be improperly "
            "deployed.",
            "PackagesUnreachable"},
           {"Failed to update package cache", "PackagesUnreachable"},
           {"E: Unable to locate package linux-objects-nvidia-535-server", "DriverKernelMismatch"},
           {"E: Unable to locate package linux-modules-nvidia-535-server", "DriverKernelMismatch"},
           {"modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-40",
            "DriverKernelMismatch"},
           {"make: *** /lib/modules/6.8.0-40-generic/build: No such file or directory.  Stop.",
            "KernelHeadersMissing"},
           {"-> Kernel module load error: Operation not permitted", "SecureBootRefuses"},
           {"modprobe: ERROR: could not insert 'nvidia': Operation not permitted",
            "SecureBootRefuses"},
           {"The kernel module failed to load. Secure boot is enabled on this system, so",
            "SecureBootRefuses"},
           {"ERROR: An error occurred while performing the step: \"Building kernel modules\".",
            "DriverDoesNotCompile"},
           {"ERROR: The nvidia kernel module was not created.", "DriverDoesNotCompile"},
           {"make: *** [Makefile:82: modules] Error 2", "DriverDoesNotCompile"},
           {"make[1]: *** [/usr/src/linux-headers-6.8.0-40/Makefile:1925: /x] Error 2",
            "DriverDoesNotCompile"},
           {"Error! Bad return status for module build on kernel: 6.8.0-40-generic (x86_64)",
            "DriverDoesNotCompile"},
           {"ERROR: Compiler version check failed:", "DriverDoesNotCompile"},
           {"E: Unable to locate package linux-headers-6.8.0-40\nmake: *** [modules] Error 2",
            "KernelHeadersMissing"},
           {"ERROR: Unable to load the kernel module 'nvidia.ko'.", "KernelModuleNotLoaded"},
           // Said after what makes it so.
           {"Key was rejected by service\nERROR: Unable to load the kernel module 'nvidia.ko'.",
            "SecureBootRefuses"},
           {"E: Failed to fetch http://archive/x.deb  404  Not Found [IP: 10.0.0.1 80]",
            "PackagesUnreachable"},
           {"E: Failed to fetch http://archive/x.deb  403  Forbidden", "PackagesUnreachable"},
           {"E: Unable to fetch some archives, maybe run apt-get update", "PackagesUnreachable"},
           {"E: The repository 'http://archive noble Release' does not have a Release file.",
            "PackagesUnreachable"},
           {"the public key is not available: NO_PUBKEY A4B469963BF863CC", "PackagesUnreachable"},
           // Warnings are no cause.
           {"W: GPG error: NO_PUBKEY A4B4\nERROR: Unable to build the NVIDIA kernel module.",
            "DriverDoesNotCompile"},
           {"something else", "DriverContainerFails"},
           {"", "DriverContainerFails"}}) {
    EXPECT_THAT(Operand({Crashing(kDriver, log)}), ElementsAre(Field(&Finding::code, code))) << log;
    // The words of a driver mean nothing in another's log.
    EXPECT_THAT(Operand({Crashing(kPlugin, log)}),
                ElementsAre(Field(&Finding::code, "OperandCrashing")))
        << log;
  }
}

// It compiles for minutes, ends, and is started anew: for most of that time it runs.
TEST_F(ContainerFindings, DriversThatEndAfterMinutes) {
  ContainerFacts container = Crashing(kDriver, "Could not resolve host");
  container.waiting = "";
  container.restarts = 3;
  container.ended_at = Ago(minutes(2));
  EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, "PackagesUnreachable")));
  container.ended = "Unknown";  // with its node, which was restarted
  EXPECT_THAT(Operand({container}), IsEmpty());
  container.ended = "Error";
  container.ready = true;
  EXPECT_THAT(Operand({container}), IsEmpty());
}

TEST_F(ContainerFindings, ADriverBesideOneThatWorks) {
  cluster_.nodes[0].labels["nvidia.com/gpu.validation"] = "ready";
  EXPECT_THAT(Operand({Crashing(kDriver, "")}),
              ElementsAre(Field(&Finding::code, "DriverConflict")));
  // It can't unload that one; in an upgrade it is to.
  const ContainerFacts in_use = Crashing(kDriver, "driver is in use");
  EXPECT_THAT(Operand({in_use}), ElementsAre(Field(&Finding::code, "DriverConflict")));
  cluster_.nodes[0].labels["nvidia.com/gpu-driver-upgrade-state"] = "pod-restart-required";
  EXPECT_THAT(Operand({in_use}), ElementsAre(Field(&Finding::code, "DriverInUse")));
  cluster_.nodes[0].labels["nvidia.com/gpu.validation"] = "DriverMissing";
  EXPECT_THAT(Operand({Crashing(kDriver, "")}),
              ElementsAre(Field(&Finding::code, "DriverContainerFails")));
}

TEST_F(ContainerFindings, DriversWhoseLogNobodyHasRead) {
  std::vector<ContainerFacts> containers = {Crashing(kDriver, ""),
                                            Crashing(kDriver, "Could not resolve host")};
  containers[1].node = "n2";
  EXPECT_THAT(Operand(containers),
              ElementsAre(Field(&Finding::object, "DaemonSet nvidia-driver-daemonset on n1, n2")));
  // Another container of the pod has another cause.
  containers[0].container = "other";
  EXPECT_THAT(Operand(containers), ElementsAre(Field(&Finding::code, "PackagesUnreachable"),
                                               Field(&Finding::code, "DriverContainerFails")));
}

// As containerd's kubelet tells it: in the state, then in the state before.
TEST_F(ContainerFindings, ContainersThatTheRuntimeCannotStart) {
  ContainerFacts container = Of(kPlugin, "RunContainerError");
  container.message = "OCI runtime create failed: nvidia-container-cli: driver not loaded";
  EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, "RuntimeHookFails")));
  container.waiting = "CrashLoopBackOff";
  container.ended = "StartError";
  container.last_words = std::exchange(container.message, "back-off 5m0s restarting");
  EXPECT_THAT(Operand({container}),
              ElementsAre(AllOf(
                  Field(&Finding::code, "RuntimeHookFails"),
                  Field(&Finding::object, "DaemonSet nvidia-device-plugin-daemonset on n1"))));
  container.last_words = "no space left on device";
  EXPECT_THAT(Operand({container}),
              ElementsAre(AllOf(Field(&Finding::code, "OperandCrashing"),
                                Field(&Finding::message, HasSubstr("no space left")))));
  // Its own words are no runtime's.
  container.ended = "Error";
  container.last_words = "nvidia-container-cli is not in the image";
  EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, "OperandCrashing")));
  // It was before the toolkit, and runs.
  container.waiting = "";
  container.ended = "StartError";
  container.last_words = "nvidia-container-cli: driver not loaded";
  EXPECT_THAT(Operand({container}), IsEmpty());
}

TEST_F(ContainerFindings, ExportersThatEnd) {
  for (const char* app : {"nvidia-dcgm-exporter", "nvidia-dcgm"}) {
    EXPECT_THAT(Operand({Crashing(app, "")}),
                ElementsAre(Field(&Finding::code, "ExporterCrashing")));
  }
}

TEST_F(ContainerFindings, NotEnoughMemory) {
  ContainerFacts container = Of("nvidia-dcgm-exporter", "");
  container.ended = "OOMKilled";
  container.exit_code = 137;
  container.memory_limit = "512Mi";
  container.ended_at = Ago(minutes(59));
  const auto findings = Operand({container});
  ASSERT_THAT(findings, ElementsAre(Field(&Finding::code, "OperandOutOfMemory")));
  EXPECT_THAT(findings[0].message, HasSubstr("512Mi"));
  container.waiting = "CrashLoopBackOff";
  EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, "OperandOutOfMemory")));
  // Long ago.
  container.waiting = "";
  container.ended_at = Ago(minutes(61));
  EXPECT_THAT(Operand({container}), IsEmpty());
  // Killed, and running again: somebody did that.
  container.ended = "Error";
  container.ended_at = Ago(minutes(1));
  EXPECT_THAT(Operand({container}), IsEmpty());
}

TEST_F(ContainerFindings, TheOperatorItself) {
  ContainerFacts container = Of("gpu-operator", "");
  container.ended = "OOMKilled";
  container.ended_at = Ago(minutes(1));
  EXPECT_THAT(
      Operand({container}),
      ElementsAre(AllOf(
          Field(&Finding::object, "Deployment gpu-operator/gpu-operator on n1"),
          Field(&Finding::remedy, "raise limits.memory in operator.resources of the chart"))));
}

TEST_F(ContainerFindings, InitContainersThatWaitForEver) {
  ContainerFacts container = Of(kPlugin, "");
  container.init = true;
  container.container = "toolkit-validation";
  container.since = Ago(minutes(9));
  EXPECT_THAT(Operand({container}), IsEmpty());
  container.since = Ago(minutes(11));
  const auto findings = Operand({container});
  ASSERT_THAT(findings, ElementsAre(Field(&Finding::code, "OperandStuck")));
  EXPECT_THAT(findings[0].message, HasSubstr("toolkit-validation waits"));
  // It waits for what the node's own finding names, or for the node.
  cluster_.nodes[0].labels["nvidia.com/gpu.validation"] = "DriverMissing";
  EXPECT_THAT(Operand({container}), IsEmpty());
  cluster_.nodes[0].labels["nvidia.com/gpu.validation"] = "ready";
  EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, "OperandStuck")));
  // One that does not run may be why the kubelet offers no GPU.
  for (const char* word : {"NoGpuAllocatable", "KubeletDoesNotAnswer"}) {
    cluster_.nodes[0].labels["nvidia.com/gpu.validation"] = word;
    EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, "OperandStuck"))) << word;
  }
  cluster_.nodes[0].ready = false;
  EXPECT_THAT(Operand({container}), IsEmpty());
}

// NVIDIA's validator says nothing on the node of a driver that is being installed.
TEST_F(ContainerFindings, InitContainersThatWaitForTheDriver) {
  ContainerFacts container = Of(kPlugin, "");
  container.init = true;
  container.since = Ago(minutes(11));
  cluster_.nodes[0].labels["nvidia.com/gpu.deploy.device-plugin"] = "true";
  cluster_.operands = {{.name = kDriver}};
  cluster_.drivers_begun = {{"n1", Ago(minutes(12))}};
  EXPECT_THAT(Operand({container}), IsEmpty());
  cluster_.drivers_begun = {{"n1", Ago(minutes(21))}};
  EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, "OperandStuck")));
}

TEST_F(ContainerFindings, ContainersThatAreNotMade) {
  ContainerFacts container = Of(kPlugin, "ContainerCreating");
  container.since = Ago(minutes(11));
  EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, "OperandStuck")));
  container.since = Ago(minutes(1));
  EXPECT_THAT(Operand({container}), IsEmpty());
  // Volumes, from the kubelet's event.
  for (const char* message :
       {"MountVolume.SetUp failed for volume \"config\" : configmap \"x\" not found",
        "MountVolume.SetUp failed for volume \"config\" : references non-existent config key: k"}) {
    container.message = message;
    const auto lacking = Operand({container});
    ASSERT_THAT(lacking, ElementsAre(Field(&Finding::code, "OperandNotStarted"))) << message;
    EXPECT_THAT(lacking[0].message, HasSubstr(message));
  }
  container.message =
      "MountVolume.SetUp failed for volume \"pod-resources\" : hostPath type check failed: "
      "/data/kubelet/pod-resources is not a directory";
  EXPECT_THAT(Operand({container}),
              ElementsAre(AllOf(Field(&Finding::code, "HostFolderMissing"),
                                Field(&Finding::remedy, HasSubstr("hostPaths.kubeletRootDir")))));
  container.message = "MountVolume.SetUp failed for volume \"x\" : hostPath type check failed";
  EXPECT_THAT(Operand({container}), IsEmpty());
  container.since = Ago(minutes(11));
  EXPECT_THAT(Operand({container}),
              ElementsAre(AllOf(Field(&Finding::code, "OperandStuck"),
                                Field(&Finding::message, HasSubstr("hostPath type check")))));
  container.waiting = "CreateContainerConfigError";
  container.message = "secret \"licence\" not found";
  const auto findings = Operand({container});
  ASSERT_THAT(findings, ElementsAre(Field(&Finding::code, "OperandNotStarted")));
  EXPECT_THAT(findings[0].message, HasSubstr("secret \"licence\" not found"));
}

TEST_F(ContainerFindings, OneCauseOnSeveralNodesIsOneLine) {
  std::vector<ContainerFacts> containers;
  for (const char* node : {"n1", "n2", "n3", "n4", "n5", "n6"}) {
    containers.push_back(Of(kPlugin, "ImagePullBackOff"));
    containers.back().node = node;
  }
  containers.push_back(Of("gpu-feature-discovery", "ImagePullBackOff"));
  EXPECT_THAT(Operand(containers),
              ElementsAre(Field(&Finding::object,
                                "DaemonSet nvidia-device-plugin-daemonset on n1, n2, n3, n4, n5 "
                                "and 1 more"),
                          Field(&Finding::object, "DaemonSet gpu-feature-discovery on n1")));
  EXPECT_THAT(Operand(containers)[0].nodes, ElementsAre("n1", "n2", "n3", "n4", "n5", "n6"));
}

TEST_F(ContainerFindings, PodsWithGpusThatEnd) {
  struct Case {
    const char* log;
    const char* code;
  };
  for (const auto& [log, code] : std::initializer_list<Case>{
           {"RuntimeError: CUDA out of memory. Tried to allocate", "GpuMemoryExhausted"},
           {"CUDA error: out of memory", "GpuMemoryExhausted"},
           {"Failed to initialize NVML: Unknown Error", "GpuLostInContainer"},
           {"CUDA driver version is insufficient for CUDA runtime version", "DriverTooOld"},
           {"The NVIDIA driver on your system is too old (found version 11040)", "DriverTooOld"},
           {"the provided PTX was compiled with an unsupported toolchain.", "DriverTooOld"},
           {"ncclUnhandledCudaError: CUDA failure 2: out of memory", "GpuMemoryExhausted"},
           {"ggml: cudaMalloc failed: out of memory", "GpuMemoryExhausted"},
           {"RESOURCE_EXHAUSTED: Out of memory while trying to allocate", "GpuMemoryExhausted"},
           {"OOM when allocating tensor with shape[1]", "GpuMemoryExhausted"},
           {"CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate", "GpuMemoryExhausted"},
           {"Failed to initialize NVML: Driver/library version mismatch", "VersionMismatch"},
           {"Failed to initialize NVML: Insufficient Permissions", "GpuNotPermitted"},
           {"ValueError: Free memory on device (3.2/22.06 GiB) on startup is less than desired GPU "
            "memory utilization (0.9, 19.85 GiB)",
            "GpuMemoryExhausted"},
           {"RuntimeError: Found no NVIDIA driver on your system.", "GpuNotInContainer"},
           {"OSError: libcuda.so.1: cannot open shared object file: No such file or directory",
            "GpuNotInContainer"},
           {"NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.",
            "GpuNotInContainer"},
           {"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
            "GpuNotInContainer"},
           {"cudaErrorNoDevice: no CUDA-capable device is detected", "GpuNotInContainer"},
           {"RuntimeError: No CUDA GPUs are available", "GpuNotInContainer"},
           {"CUDA unknown error - this may be due to an incorrectly set up environment, e.g.",
            "GpuNotInContainer"},
           {"RuntimeError: Failed to infer device type", "GpuNotInContainer"},
           {"Error 802: system not yet initialized (Triggered internally)",
            "FabricManagerNotReady"},
           {"CUDA error: system not yet initialized", "FabricManagerNotReady"},
           {"cuInit: CUDA_ERROR_SYSTEM_NOT_READY", "FabricManagerNotReady"},
           {"Error 803: system has unsupported display driver / cuda driver combination",
            "VersionMismatch"},
           {"Failed to allocate device vector A (error code out of memory)!", "GpuMemoryExhausted"},
           {"NCCL WARN Cuda failure 2 'out of memory'", "GpuMemoryExhausted"},
           {"NCCL WARN Cuda failure 'out of memory'", "GpuMemoryExhausted"},
           {"ValueError: No available memory for the cache blocks.", "GpuMemoryExhausted"},
           {"system not yet initialized", "FabricManagerNotReady"},
           {"code=802(cudaErrorSystemNotReady)", "FabricManagerNotReady"},
           {"pynvml.NVMLError_LibraryNotFound: NVML Shared Library Not Found", "GpuNotInContainer"},
           {"OSError: libnvidia-ml.so.1: cannot open shared object file: No such file or directory",
            "GpuNotInContainer"},
           {"cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 6,442,450,944 bytes",
            "GpuMemoryExhausted"},
           {"CUDA driver error: out of memory", "GpuMemoryExhausted"},
           {"cuda runtime error (2) : out of memory at THCStorage.cu:58", "GpuMemoryExhausted"},
           {"darknet: CUDA Error: out of memory", "GpuMemoryExhausted"},
           {"std::bad_alloc: out_of_memory: CUDA error at: rmm", "GpuMemoryExhausted"},
           {"[defaultAllocator.cpp::allocate::20] Error Code 1: Cuda Runtime (out of memory)",
            "GpuMemoryExhausted"},
           {"RuntimeError: CUDA error: uncorrectable ECC error encountered", "GpuMemoryFaulty"},
           {"cuCtxSynchronize: CUDA_ERROR_ECC_UNCORRECTABLE", "GpuMemoryFaulty"},
           {"code=214(cudaErrorECCUncorrectable)", "GpuMemoryFaulty"},
           {"CUDA error: no kernel image is available for execution on the device",
            "ImageNotForGpu"},
           // A warning, and the cause.
           {"NVML Shared Library Not Found\nRuntimeError: CUDA out of memory.",
            "GpuMemoryExhausted"},
           {"No devices were found", nullptr},
           {"sh: 1: nvidia-smi: not found", nullptr},
           {"ValueError: wrong shape", nullptr},
           {"out of memory", nullptr},
           {"", nullptr}}) {
    const auto findings = Workload(Crashing("train", log));
    if (code == nullptr) {
      EXPECT_THAT(findings, IsEmpty()) << log;
    } else {
      EXPECT_THAT(findings, ElementsAre(Field(&Finding::code, code))) << log;
    }
  }
}

TEST_F(ContainerFindings, AGpuWhoseMemoryFails) {
  EXPECT_THAT(Workload(Crashing("train", "uncorrectable ECC error encountered")),
              ElementsAre(AllOf(Field(&Finding::object, "pod gpu-operator/p on n1"),
                                Field(&Finding::remedy, HasSubstr("cordon the node")))));
}

TEST_F(ContainerFindings, WhetherALogSaysWhy) {
  EXPECT_TRUE(SaysWhy(cluster_, Crashing("train", "CUDA out of memory")));
  EXPECT_FALSE(SaysWhy(cluster_, Crashing("train", "ValueError")));
  EXPECT_FALSE(SaysWhy(cluster_, Crashing("train", "")));
}

// Scripts may ask nvidia-smi in passing: it counts if the container ended by its answer.
TEST_F(ContainerFindings, PodsWithGpusThatEndByNvidiaSmi) {
  struct Case {
    const char* log;
    long long exit_code;
  };
  for (const auto& [log, exit_code] :
       std::initializer_list<Case>{{"sh: 1: nvidia-smi: not found", 127},
                                   {"sh: nvidia-smi: not found", 127},
                                   {"bash: line 1: nvidia-smi: command not found", 127},
                                   {"No devices were found", 6},
                                   {"No devices found.", 6}}) {
    ContainerFacts container = Crashing("train", log);
    container.exit_code = exit_code;
    EXPECT_THAT(Workload(container), ElementsAre(Field(&Finding::code, "GpuNotInContainer")))
        << log;
    container.exit_code = 1;
    EXPECT_THAT(Workload(container), IsEmpty()) << log;
  }
}

TEST_F(ContainerFindings, AGpuThatNobodyOnItsNodeSees) {
  for (const auto& [log, code] :
       {std::pair("no CUDA-capable device is detected", "GpuNotInContainer"),
        std::pair("Error 802: system not yet initialized", "FabricManagerNotReady")}) {
    const ContainerFacts container = Crashing("train", log);
    cluster_.nodes[0].labels["nvidia.com/gpu.validation"] = "ready";
    EXPECT_THAT(Workload(container), ElementsAre(Field(&Finding::code, code)));
    cluster_.nodes[0].labels["nvidia.com/gpu.validation"] = "DriverHangs";
    EXPECT_THAT(Workload(container), IsEmpty());
  }
}

// CUDA says the same of a driver that is too old and of one that is not in the container.
TEST_F(ContainerFindings, ADriverThatCudaCannotUse) {
  const ContainerFacts container =
      Crashing("train", "CUDA driver version is insufficient for CUDA runtime version");
  EXPECT_THAT(Workload(container),
              ElementsAre(AllOf(Field(&Finding::code, "DriverTooOld"),
                                Field(&Finding::remedy, HasSubstr("whether CDI is switched on")))));
  cluster_.nodes[0].labels["nvidia.com/gpu.validation"] = "ready";
  EXPECT_THAT(Workload(container),
              ElementsAre(AllOf(Field(&Finding::code, "GpuNotInContainer"),
                                Field(&Finding::remedy, HasSubstr("a newer driver")))));
  EXPECT_THAT(Workload(Crashing("train", "The NVIDIA driver on your system is too old")),
              ElementsAre(Field(&Finding::code, "DriverTooOld")));
}

TEST_F(ContainerFindings, MemoryThatNeighboursTake) {
  const ContainerFacts container = Crashing("train", "CUDA out of memory");
  EXPECT_THAT(Workload(container)[0].message, HasSubstr("more memory than its GPU has"));
  cluster_.nodes[0].labels["nvidia.com/gpu.sharing-strategy"] = "mps";
  EXPECT_THAT(Workload(container)[0].message, HasSubstr("its share of a GPU, which MPS limits"));
  EXPECT_THAT(Workload(container)[0].remedy, HasSubstr("replicas"));
  cluster_.nodes[0].labels["nvidia.com/gpu.sharing-strategy"] = "time-slicing";
  EXPECT_THAT(Workload(container)[0].message, HasSubstr("neighbours"));
}

// --- which containers are troubled at all
// ---------------------------------------------------------

std::vector<ContainerFacts> Troubled(const char* status) {
  Json pod = *ParseJson(R"({"metadata": {"namespace": "a", "name": "p", "labels": {"app": "x"}},
      "spec": {"nodeName": "n1", "initContainers": [{"name": "init"}, {"name": "side",
      "restartPolicy": "Always"}], "containers": [{"name": "main", "resources": {"limits":
      {"memory": "64Mi"}}}]}})");
  pod["status"] = *ParseJson(status);
  return TroubledContainers(pod);
}

TEST(TroubledContainers, WhatTheKubeletSays) {
  const auto troubled = Troubled(R"({"startTime": "1", "containerStatuses": [{"name": "main",
      "image": "i", "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff",
      "message": "back-off"}}, "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137,
      "finishedAt": "2", "message": "killed"}}}]})");
  ASSERT_EQ(troubled.size(), 1U);
  EXPECT_EQ(troubled[0].app, "x");
  EXPECT_EQ(troubled[0].node, "n1");
  EXPECT_EQ(troubled[0].waiting, "CrashLoopBackOff");
  EXPECT_EQ(troubled[0].ended, "OOMKilled");
  EXPECT_EQ(troubled[0].ended_at, "2");
  EXPECT_EQ(troubled[0].last_words, "killed");
  EXPECT_FALSE(troubled[0].over);
  EXPECT_EQ(troubled[0].exit_code, 137);
  EXPECT_EQ(troubled[0].restarts, 3);
  EXPECT_EQ(troubled[0].memory_limit, "64Mi");
}

TEST(TroubledContainers, WhetherItEndsAgainAndAgain) {
  const WallTime now(hours(24 * 365 * 56));
  ContainerFacts container;
  container.waiting = "CrashLoopBackOff";
  EXPECT_TRUE(EndsAgain(container, now));
  container.waiting = "";
  EXPECT_FALSE(EndsAgain(container, now));
  container.exit_code = 1;
  container.restarts = 1;
  container.ended_at = Rfc3339(now - minutes(59));
  EXPECT_TRUE(EndsAgain(container, now));
  struct Case {
    const char* what;
    void (*change)(ContainerFacts& container);
  };
  for (const auto& [what, change] : std::initializer_list<Case>{
           {"it is ready", [](ContainerFacts& facts) { facts.ready = true; }},
           {"its first run", [](ContainerFacts& facts) { facts.restarts = 0; }},
           {"it succeeded", [](ContainerFacts& facts) { facts.exit_code = 0; }},
           {"it waits for something else",
            [](ContainerFacts& facts) { facts.waiting = "CreateContainerConfigError"; }},
           {"it could not be started, and runs",
            [](ContainerFacts& facts) { facts.ended = "StartError"; }},
           {"long ago", [](ContainerFacts& facts) { facts.ended_at = "2000-01-01T00:00:00Z"; }}}) {
    ContainerFacts changed = container;
    change(changed);
    EXPECT_FALSE(EndsAgain(changed, now)) << what;
  }
}

TEST(TroubledContainers, WhetherItFailsNow) {
  const WallTime now(hours(24 * 365 * 56));
  ContainerFacts container;
  container.exit_code = 1;
  container.ended_at = Rfc3339(now - minutes(59));
  EXPECT_TRUE(FailsNow(container, now));
  container.exit_code = 0;
  EXPECT_FALSE(FailsNow(container, now));
  container.exit_code = 1;
  container.ended_at = Rfc3339(now - minutes(61));
  EXPECT_FALSE(FailsNow(container, now));
  container.waiting = "CrashLoopBackOff";
  EXPECT_TRUE(FailsNow(container, now));
  // Of a pod that is over: its log is that of the run which failed.
  const auto over = Troubled(R"({"containerStatuses": [{"name": "main", "state": {"terminated":
      {"reason": "Error", "exitCode": 1}}}]})");
  ASSERT_EQ(over.size(), 1U);
  EXPECT_TRUE(over[0].over);
}

// Of pods that failed: a side car and other workers are ended after the one that fails.
TEST(TroubledContainers, WhichRunsMaySayWhy) {
  struct Run {
    const char* name;
    long long exit_code;
    const char* ended_at;
  };
  std::vector<ContainerFacts> runs;
  for (const auto& [name, exit_code, ended_at] :
       std::initializer_list<Run>{{"side car", 143, "2026-01-01T00:00:09Z"},
                                  {"worker", 1, "2026-01-01T00:00:03Z"},
                                  {"killed", 137, "2026-01-01T00:00:08Z"},
                                  {"first", 1, "2026-01-01T00:00:01Z"},
                                  {"last", 2, "2026-01-01T00:00:05Z"}}) {
    ContainerFacts run;
    run.container = name;
    run.exit_code = exit_code;
    run.ended_at = ended_at;
    KeepTelling(runs, run);
  }
  EXPECT_THAT(runs, ElementsAre(Field(&ContainerFacts::container, "last"),
                                Field(&ContainerFacts::container, "worker"),
                                Field(&ContainerFacts::container, "first"),
                                Field(&ContainerFacts::container, "side car")));
}

TEST(TroubledContainers, WhatIsNoTrouble) {
  for (const char* status :
       {R"({})", R"({"containerStatuses": [{"name": "main", "state": {"running": {}}}]})",
        R"({"initContainerStatuses": [{"name": "init", "state": {"terminated": {"exitCode": 0,
            "reason": "Completed"}}}], "containerStatuses": [{"name": "main",
            "state": {"waiting": {"reason": "PodInitializing"}}}]})",
        R"({"initContainerStatuses": [{"name": "side", "state": {"running":
            {"startedAt": "1"}}}]})"}) {
    EXPECT_THAT(Troubled(status), IsEmpty()) << status;
  }
}

TEST(TroubledContainers, WhatWaits) {
  const auto init = Troubled(
      R"({"initContainerStatuses": [{"name": "init", "state": {"running": {"startedAt": "1"}}}]})");
  ASSERT_EQ(init.size(), 1U);
  EXPECT_TRUE(init[0].init);
  EXPECT_EQ(init[0].since, "1");
  const auto made = Troubled(R"({"startTime": "1", "containerStatuses": [{"name": "main",
      "state": {"waiting": {"reason": "ContainerCreating"}}}]})");
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].since, "1");
}

// Where there are init containers the kubelet has one word for all that have not begun.
TEST(TroubledContainers, APodWithoutItsSandbox) {
  const auto troubled = Troubled(R"({"startTime": "1", "initContainerStatuses": [
      {"name": "init", "state": {"waiting": {"reason": "PodInitializing"}}},
      {"name": "side", "state": {"waiting": {"reason": "PodInitializing"}}}],
      "containerStatuses": [{"name": "main", "state": {"waiting":
      {"reason": "PodInitializing"}}}]})");
  ASSERT_EQ(troubled.size(), 1U);
  EXPECT_EQ(troubled[0].container, "init");
  EXPECT_EQ(troubled[0].waiting, "ContainerCreating");
  EXPECT_EQ(troubled[0].since, "1");
}

// One label may be that of several DaemonSets: a driver for each kernel.
TEST(TroubledContainers, AreCalledByTheirDaemonSet) {
  const auto troubled = TroubledContainers(*ParseJson(R"({"metadata": {"labels": {"app": "x"},
      "ownerReferences": [{"kind": "DaemonSet", "name": "x-5.15", "controller": true}]},
      "status": {"containerStatuses": [{"ready": true, "state": {"waiting":
      {"reason": "CrashLoopBackOff"}}}]}})"));
  ASSERT_EQ(troubled.size(), 1U);
  EXPECT_EQ(troubled[0].app, "x-5.15");
  EXPECT_TRUE(troubled[0].ready);
}

TEST(TroubledContainers, APodThatGoesIsNoTrouble) {
  EXPECT_THAT(TroubledContainers(*ParseJson(R"({"metadata": {"deletionTimestamp": "1"}, "status": {
      "containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}})")),
              IsEmpty());
}

}  // namespace
}  // namespace gantry::doctor
