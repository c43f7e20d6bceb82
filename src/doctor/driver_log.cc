// SPDX-License-Identifier: Apache-2.0
// What do the last lines of a driver container mean? The words are those of NVIDIA's driver
// container, its installer, package managers and the kernel.
#include "doctor/driver_log.h"

#include <array>

namespace gantry::doctor {
namespace {

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

}  // namespace

const Meaning* InDriverLog(std::string_view log) { return Find(kDriverLog, log); }

}  // namespace gantry::doctor
