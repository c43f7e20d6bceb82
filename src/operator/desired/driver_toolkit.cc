// SPDX-License-Identifier: Apache-2.0

// How is a driver built on OpenShift? Its nodes' system, RHCOS, has no kernel sources; an OpenShift
// image has them, one for each version of RHCOS. So each version among the GPU nodes has its own
// DaemonSet, whose pods have a container of that image. It builds what the driver's container
// prepares in a shared directory.

#include "operator/desired/driver_toolkit.h"

#include <algorithm>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

constexpr std::string_view kShared = "shared-nvidia-driver-toolkit";
constexpr std::string_view kSharedPath = "/mnt/shared-nvidia-driver-toolkit";

}  // namespace

ToolkitState DecideToolkit(const policy::ClusterPolicy& policy, const OpenShift& openshift,
                           const std::vector<std::string>& rhcos, bool described) {
  ToolkitState state;
  const policy::DriverOptions& options = policy.driver_options;
  if (!openshift.present() || !options.openshift_toolkit || options.precompiled) {
    return state;
  }
  state.nfd_too_old = described && rhcos.empty();
  state.image_stream_missing = !openshift.toolkit.has_value();
  state.image_stream_broken = openshift.toolkit.has_value() && openshift.toolkit->broken;
  state.enabled = rhcos.empty() || state.image_stream_missing ? -1 : 1;
  state.rhcos_tags_missing =
      state.enabled == 1 && !std::ranges::all_of(rhcos, [&](const std::string& version) {
        return openshift.toolkit->images.contains(version);
      });
  return state;
}

void UseClusterProxy(const Context& context, NvidiaDaemonSet& set) {
  if (!context.openshift.present()) {
    return;
  }
  set.Env("OPENSHIFT_VERSION", context.openshift.version);
  if (context.policy.driver_options.precompiled) {
    return;  // nothing is downloaded
  }
  const ClusterProxy& proxy = context.openshift.proxy;
  const auto pass = [&](const char* name, const std::string& value) {
    if (!value.empty()) {
      set.Env(name, value);
      set.Env(Lower(name), value);
    }
  };
  pass("HTTPS_PROXY", proxy.https);
  pass("HTTP_PROXY", proxy.http);
  pass("NO_PROXY", proxy.none_for);
  if (!AsksForTrustedCa(context)) {
    return;
  }
  set.Volume(names::kTrustedCa, "configMap",
             {{"name", names::kTrustedCa},
              {"items", {{{"key", "ca-bundle.crt"}, {"path", "tls-ca-bundle.pem"}}}}});
  set.main().Mount(names::kTrustedCa, "/etc/pki/ca-trust/extracted/pem", kReadOnly);
}

bool AsksForTrustedCa(const Context& context) {
  return context.openshift.present() && context.openshift.proxy.trusted_ca &&
         !context.policy.driver_options.precompiled;
}

Json TrustedCa(const Context& context) {
  Json map = OwnedObject(context, "v1", "ConfigMap", names::kTrustedCa, true);
  map["metadata"]["labels"][names::kInjectTrustedCa] = "true";
  map["data"] = {{"ca-bundle.crt", ""}};
  return map;
}

void UseToolkit(const Context& context, const std::string& rhcos, NvidiaDaemonSet& set) {
  const DriverToolkit toolkit = context.openshift.toolkit.value_or(DriverToolkit());
  const auto image = toolkit.images.find(rhcos);
  const bool missing = image == toolkit.images.end();
  set.LabelOnly(names::kDriverToolkit, "true");
  set.LabelSet(names::kDriverToolkitRhcos, rhcos);
  set.Volume(kShared, "emptyDir", Json::object());
  for (const auto& [name, program] :
       {std::pair("nvidia-driver-ctr", "nv-ctr-run-with-dtk"),
        std::pair("nvidia-fs-ctr", "nv-fs-ctr-run-with-dtk"),
        std::pair("nvidia-gdrcopy-ctr", "gdrcopy-ctr-run-with-dtk")}) {
    if (Container* container = set.Find(name); container != nullptr) {
      container->Command({"ocp_dtk_entrypoint"}).Args({program}).Mount(kShared, kSharedPath);
    }
  }
  const std::string script = format(
      "until [ -f {0}/dir_prepared ]; do sleep 10; done\n"
      "exec {0}/ocp_dtk_entrypoint dtk-build-driver\n",
      kSharedPath);
  Container& builder =
      set.AddContainer("openshift-driver-toolkit-ctr", missing ? set.main().image() : image->second)
          .Command({"bash", "-xc"})
          .Args({script.c_str()})
          .PrivilegedAtLevel0()
          .Env("RHCOS_VERSION", rhcos)
          .Env(names::kVisibleDevices, "void")
          .Mount(kShared, kSharedPath)
          .Mount("var-log", "/var/log")
          .Mount("mlnx-ofed-usr-src", "/run/mellanox/drivers/usr/src", kFromHost)
          .Mount("host-os-release", "/host-etc/os-release", kReadOnly);
  if (context.policy.gds.enabled) {
    builder.Env("GDS_ENABLED", "true");
  }
  if (context.policy.gdrcopy.enabled) {
    builder.Env("GDRCOPY_ENABLED", "true");
  }
  if (!context.policy.driver.resources.is_null()) {
    builder.Set("resources", context.policy.driver.resources);
  }
  if (missing) {
    set.LabelOnly(names::kRhcosImageMissing, "true");
    builder.Env("RHCOS_IMAGE_MISSING", "true");
    set.Env("RHCOS_IMAGE_MISSING", "true");
    set.Env("RHCOS_VERSION", rhcos);
  }
}

}  // namespace gantry::gpu_operator
