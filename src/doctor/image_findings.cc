// SPDX-License-Identifier: Apache-2.0
// Why is an image not pulled? From what the kubelet says, which repeats registries, proxies,
// containerd, Docker and CRI-O.
#include "doctor/image_findings.h"

#include <array>

#include "base/text.h"
#include "doctor/facts.h"
#include "doctor/meaning.h"

namespace gantry::doctor {
namespace {

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

Finding Unpulled(const ContainerFacts& container) {
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

}  // namespace

bool WaitsForImage(const ContainerFacts& container) {
  return container.waiting == "ImagePullBackOff" || container.waiting == "ErrImagePull" ||
         Find(kPullReasons, container.waiting) != nullptr;
}

Finding NotPulled(const ContainerFacts& container) {
  return WithSecrets(container, Unpulled(container));
}

}  // namespace gantry::doctor
