// SPDX-License-Identifier: Apache-2.0

// Which files of a driver's container depend on the nodes? Images are for one system, named in the
// tag; package sources and certificates have paths by system; a licence, a topology and module
// parameters come from the user's ConfigMaps. Each key is one mount, because the image has its own
// files in the same directories.

#include "operator/desired/driver_files.h"

#include <array>
#include <map>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

struct SystemPaths {
  std::string_view repositories;
  std::string_view certificates;
};

const std::map<std::string_view, const SystemPaths*>& SystemsThatAreKnown() {
  static constexpr SystemPaths kDebian{"/etc/apt/sources.list.d",
                                       "/usr/local/share/ca-certificates"};
  static constexpr SystemPaths kRedHat{"/etc/yum.repos.d", "/etc/pki/ca-trust/extracted/pem"};
  static constexpr SystemPaths kSuse{"/etc/zypp/repos.d", "/etc/pki/trust/anchors"};
  static const std::map<std::string_view, const SystemPaths*> kPaths = {
      {"ubuntu", &kDebian}, {"debian", &kDebian}, {"centos", &kRedHat},
      {"rocky", &kRedHat},  {"ol", &kRedHat},     {"rhel", &kRedHat},
      {"rhcos", &kRedHat},  {"sles", &kSuse},     {"sl-micro", &kSuse}};
  return kPaths;
}

const SystemPaths* PathsOf(std::string_view system) {
  const auto found = SystemsThatAreKnown().find(system);
  return found == SystemsThatAreKnown().end() ? nullptr : found->second;
}

bool IsSuse(std::string_view system) { return system == "sles" || system == "sl-micro"; }

struct Subscription {
  const char* host;
  const char* here;
  HostDir kind;
};

// In the order of their paths in the container.
std::vector<Subscription> SubscriptionsOf(const Context& context) {
  const std::string& system = context.system.id;
  if (system == "rhel" && context.runtime != "crio" &&
      context.policy.driver_options.repo_config.empty()) {
    return {{"/etc/pki/entitlement", "/run/secrets/etc-pki-entitlement", HostDir::kAny},
            {"/etc/yum.repos.d/redhat.repo", "/run/secrets/redhat.repo", HostDir::kAny},
            {"/etc/rhsm", "/run/secrets/rhsm", HostDir::kAny}};
  }
  if (IsSuse(system)) {
    return {{"/etc/SUSEConnect", "/etc/SUSEConnect", HostDir::kFileOrCreate},
            {"/etc/zypp/credentials.d", "/etc/zypp/credentials.d", HostDir::kAny}};
  }
  return {};
}

Status MountForSystem(const Context& context, DaemonSet& set,
                      const std::vector<Container*>& builders, std::string_view volume,
                      const std::string& config_map, std::string_view SystemPaths::* place,
                      std::string_view field) {
  if (config_map.empty()) {
    return {};
  }
  const SystemPaths* paths = PathsOf(context.system.id);
  if (paths == nullptr) {
    return Fail(ErrorKind::kInvalid,
                format("spec.{}: no place for its files is known on {}", field, context.system.id));
  }
  return MountKeys(context, set, builders, volume, config_map, paths->*place, field);
}

Json Item(std::string_view key) { return {{"key", key}, {"path", key}}; }

}  // namespace

Context ForPart(const Context& context, const DriverPart& part) {
  Context own = context;
  own.system = part.system;
  own.runtime = context.openshift.present() ? context.runtime : part.runtime;
  // The version of OpenShift is that of the nodes' own system: during an upgrade of the cluster,
  // nodes not upgraded yet keep their driver.
  if (const std::string& id = part.system.id; id == "rhcos" && context.openshift.present()) {
    if (const std::string version = part.system.tag.substr(id.size()); version.starts_with("4.")) {
      own.openshift.version = version;
    }
  }
  return own;
}

void MarkSystem(const Json& nodes, DaemonSet& set) {
  if (const auto system = nodes.find(names::kDriverSystem); system != nodes.end()) {
    set.LabelSet(names::kDriverSystem, system->get<std::string>());
  }
}

Status MountKeys(const Context& context, DaemonSet& set, const std::vector<Container*>& users,
                 std::string_view volume, const std::string& config_map, std::string_view directory,
                 std::string_view field) {
  if (config_map.empty()) {
    return {};
  }
  const auto found = context.config_maps.find(config_map);
  if (found == context.config_maps.end()) {
    return Fail(ErrorKind::kInvalid, format("spec.{}: there is no ConfigMap {} in namespace {}",
                                            field, config_map, context.ns));
  }
  Json items = Json::array();
  for (const std::string& key : found->second) {
    items.push_back(Item(key));
    for (Container* user : users) {
      user->Mount(volume, format("{}/{}", directory, key), {.read_only = true, .sub_path = key});
    }
  }
  set.Volume(volume, "configMap", {{"name", config_map}, {"items", std::move(items)}});
  return {};
}

void AddLicensing(const policy::DriverOptions& options, DaemonSet& set) {
  constexpr std::string_view kConfig = "gridd.conf";
  constexpr std::string_view kToken = "client_configuration_token.tok";
  const bool secret = !options.licensing_secret.empty();
  if (secret || !options.licensing_config.empty()) {
    Json items = Json::array({Item(kConfig)});
    set.main().Mount("licensing-config", format("/drivers/{}", kConfig),
                     {.read_only = true, .sub_path = kConfig});
    if (options.nls) {
      items.push_back(Item(kToken));
      set.main().Mount("licensing-config", format("/drivers/ClientConfigToken/{}", kToken),
                       {.read_only = true, .sub_path = kToken});
    }
    if (secret) {
      set.Volume("licensing-config", "secret",
                 {{"secretName", options.licensing_secret}, {"items", std::move(items)}});
    } else {
      set.Volume("licensing-config", "configMap",
                 {{"name", options.licensing_config}, {"items", std::move(items)}});
    }
  }
  if (!options.topology_config.empty()) {
    constexpr std::string_view kTopology = "nvidia-topologyd.conf";
    set.Volume("topology-config", "configMap",
               {{"name", options.topology_config}, {"items", {Item(kTopology)}}});
    set.main().Mount("topology-config", format("/etc/nvidia/{}", kTopology),
                     {.read_only = true, .sub_path = kTopology});
  }
}

Status AddPackageSources(const Context& context, DaemonSet& set,
                         const std::vector<Container*>& builders, const SourceFields& fields) {
  const policy::DriverOptions& options = context.policy.driver_options;
  if (options.precompiled) {
    // Nothing is downloaded; on SUSE it uses the kernel's own modules.
    if (IsSuse(context.system.id)) {
      set.HostVolume("lib-modules", "/lib/modules");
      set.main().Mount("lib-modules", "/run/host/lib/modules", kReadOnly);
    }
    return {};
  }
  TRY(MountForSystem(context, set, builders, "repo-config", options.repo_config,
                     &SystemPaths::repositories, fields.repo));
  TRY(MountForSystem(context, set, builders, "cert-config", options.cert_config,
                     &SystemPaths::certificates, fields.cert));
  int number = 0;
  for (const Subscription& subscription : SubscriptionsOf(context)) {
    const std::string volume = format("subscription-config-{}", number++);
    set.HostVolume(volume, subscription.host, subscription.kind);
    set.main().Mount(volume, subscription.here, kReadOnly);
  }
  return {};
}

std::string ForSystem(const std::string& image, const SystemFacts& system,
                      std::string_view kernel) {
  if (image.find("sha256:") != std::string::npos) {
    return image;
  }
  std::string tag = image;
  const auto drop = [&](std::string_view part) {
    if (const std::string end = format("-{}", part); !part.empty() && tag.ends_with(end)) {
      tag.resize(tag.size() - end.size());
    }
  };
  drop(system.tag);
  drop(kernel);
  if (!kernel.empty()) {
    tag += format("-{}", kernel);
  }
  return tag + format("-{}", system.tag);
}

std::string SystemOfImage(std::string_view image) {
  for (const auto& [id, paths] : SystemsThatAreKnown()) {
    const std::string before = format("-{}", id);
    const size_t at = image.rfind(before);
    const std::string_view version =
        at == std::string_view::npos ? "" : image.substr(at + before.size());
    if (!version.empty() && version.front() >= '1' && version.front() <= '9' &&
        version.find_first_not_of("0123456789.") == std::string_view::npos) {
      return format("{}{}", id, version);
    }
  }
  return "";
}

}  // namespace gantry::gpu_operator
