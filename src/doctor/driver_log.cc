// SPDX-License-Identifier: Apache-2.0
// What do the last lines of a driver container's log mean? The messages are those of NVIDIA's
// driver container, its installer, package managers and the kernel.
#include "doctor/driver_log.h"

#include <array>

#include "policy/reasons.h"

namespace gantry::doctor {
namespace {

constexpr char kUnreachable[] = "the package repositories can't be reached";
constexpr char kNoHeaders[] = "the package repositories have no headers of the node's kernel";
constexpr char kHeaders[] =
    "let the nodes reach their distribution's packages for the running kernel (driver.repoConfig), "
    "or set driver.usePrecompiled=true";
constexpr char kSecureBoot[] =
    "use a signed precompiled driver, enrol its key, or disable Secure Boot";
constexpr char kOtherKernel[] =
    "keep the nodes on a kernel that the driver has modules for, set a driver.version for theirs, "
    "or set driver.usePrecompiled=false";
constexpr char kEndHolders[] =
    "end what uses a GPU there (pods, nvidia-persistenced, fabric manager, a display server), or "
    "restart the node";
constexpr char kNotCompiled[] = "DriverDoesNotCompile";
constexpr char kCompiles[] = "its driver does not compile for the node's kernel";
constexpr char kOtherVersion[] =
    "set a driver.version that supports this kernel, or driver.usePrecompiled=true";

constexpr char kTakesNone[] =
    "its module accepts none of the node's GPUs: another driver holds them, or this version or its "
    "open modules do not support them";
constexpr char kOtherDriver[] =
    "read the node's kernel log (NVRM): unbind nouveau or vfio-pci from the GPUs, or set another "
    "driver.version or driver.kernelModuleType=proprietary";

constexpr std::array kDriverLog = std::to_array<Meaning>({
    {"No precompiled package found", "DriverKernelMismatch",
     "its image has no driver for the node's kernel", kOtherKernel},
    {"appears to already be loaded", "DriverConflict",
     "another NVIDIA driver is already loaded on the node", kOwnDriver},
    {"driver is in use", "DriverInUse", "the previous driver is still in use and can't be unloaded",
     kEndHolders},
    {"unload the driver: it is in use by", "DriverInUse",
     "the previous driver is still in use and can't be unloaded", kEndHolders},
    {"unload the driver: the module ", "DriverInUse",
     "the previous driver is still in use and can't be unloaded", kEndHolders},
    {"The Nouveau kernel driver is currently in use", "GpuBoundToNouveau",
     "nouveau holds the node's GPU", reasons::kBlacklistNouveau},
    {"is already bound to nouveau", "GpuBoundToNouveau", "nouveau holds the node's GPU",
     reasons::kBlacklistNouveau},
    // The kernel's error for modules that exist.
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
     "its image has no module for the node's kernel", kOtherKernel},
    {"could not insert 'nvidia': No such device", "DriverTakesNoGpu", kTakesNone, kOtherDriver},
    {"Kernel module load error: No such device", "DriverTakesNoGpu", kTakesNone, kOtherDriver},
    // If package servers are unreachable, the packages below are missing too.
    {"Could not resolve host", "PackagesUnreachable", kUnreachable, kHeaders},
    {"Temporary failure resolving", "PackagesUnreachable", kUnreachable, kHeaders},
    {"Could not connect to ", "PackagesUnreachable", kUnreachable, kHeaders},
    {"Unable to connect to ", "PackagesUnreachable", kUnreachable, kHeaders},
    {"407  Proxy Authentication Required", "PackagesUnreachable",
     "the package repositories can't be reached: the proxy requires an account",
     "set the proxy with its account in HTTP_PROXY and HTTPS_PROXY of driver.env"},
    {"Unable to locate package linux-objects-nvidia", "DriverKernelMismatch",
     "no precompiled driver exists for the node's kernel", kOtherKernel},
    {"Unable to locate package linux-modules-nvidia", "DriverKernelMismatch",
     "no precompiled driver exists for the node's kernel", kOtherKernel},
    {"Could not resolve Linux kernel version", "KernelHeadersMissing", kNoHeaders, kHeaders},
    {"Could not locate Linux kernel version string", "KernelHeadersMissing", kNoHeaders, kHeaders},
    {"Unable to locate package linux-headers", "KernelHeadersMissing", kNoHeaders, kHeaders},
    {"Unable to find a match: kernel", "KernelHeadersMissing", kNoHeaders, kHeaders},
    {"No match for argument: kernel", "KernelHeadersMissing", kNoHeaders, kHeaders},
    {"No package kernel-headers", "KernelHeadersMissing", kNoHeaders, kHeaders},
    {"Unable to find the kernel source tree", "KernelHeadersMissing", kNoHeaders, kHeaders},
    {"/build: No such file or directory", "KernelHeadersMissing",
     "the driver container has no headers of the node's kernel", kHeaders},
    {"failed to reach RHEL package repositories", "PackagesUnreachable", kUnreachable, kHeaders},
    {"Failed to download metadata for repo", "PackagesUnreachable", kUnreachable, kHeaders},
    {"failed to update the dnf metadata cache", "PackagesUnreachable", kUnreachable, kHeaders},
    {"Failed to update package cache", "PackagesUnreachable", kUnreachable, kHeaders},
    {"RHEL entitlement may be improperly deployed", "PackagesUnreachable",
     "the driver container has no access to its distribution's packages",
     "give the nodes Red Hat's entitlement; on OpenShift run node feature discovery on every GPU "
     "node, because it selects the driver toolkit's image"},
    {"E: Failed to fetch ", "PackagesUnreachable", kUnreachable, kHeaders},
    {"E: Unable to fetch some archives", "PackagesUnreachable", kUnreachable, kHeaders},
    // Last: its cause is above.
    {"Unable to build", kNotCompiled, kCompiles, kOtherVersion},
    {"performing the step: \"Building kernel modules\"", kNotCompiled, kCompiles, kOtherVersion},
    {"kernel module was not created", kNotCompiled, kCompiles, kOtherVersion},
    {"Bad return status for module build", kNotCompiled, kCompiles, kOtherVersion},
    {"Compiler version check failed", kNotCompiled, kCompiles, kOtherVersion},
    {"make: *** [", kNotCompiled, kCompiles, kOtherVersion},
    {"make[1]: *** [", kNotCompiled, kCompiles, kOtherVersion},
    {"Unable to load the kernel module 'nvidia.ko'", "KernelModuleNotLoaded",
     "the node's kernel rejects its module", "read the node's kernel log (dmesg)"},
    // A warning too, beside the cause.
    {"does not have a Release file", "PackagesUnreachable", kUnreachable, kHeaders},
    {"NO_PUBKEY", "PackagesUnreachable",
     "a package repository is signed with a key that the image does not have",
     "set a driver.version whose image has the current keys, or driver.usePrecompiled=true"},
});

}  // namespace

const Meaning* InDriverLog(std::string_view log) { return Find(kDriverLog, log); }

}  // namespace gantry::doctor
