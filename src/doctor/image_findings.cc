// SPDX-License-Identifier: Apache-2.0
// Why is an image not pulled? From the kubelet's message, which repeats those of registries,
// proxies, containerd, Docker and CRI-O.
#include "doctor/image_findings.h"

#include <array>

#include "base/text.h"
#include "doctor/facts.h"
#include "doctor/meaning.h"

namespace gantry::doctor {
namespace {

constexpr char kPullSecret[] =
    "set imagePullSecrets of its section, and check that the secret is for this registry";
constexpr char kPullLess[] =
    "pull with an account of the registry (imagePullSecrets of its section), or mirror the image";
constexpr char kCorrectImage[] =
    "correct repository, image and version of its section in the ClusterPolicy";
constexpr char kEachArchitecture[] =
    "mirror it for all architectures of the nodes, or correct repository, image "
    "and version of its section";
constexpr char kMirror[] =
    "let the nodes reach the registry, or mirror the image and set repository, image and version "
    "of its section";

// In lower case: registries, proxies and runtimes write them in several ways.
constexpr std::array kPullErrors = std::to_array<Meaning>({
    {"proxy authentication required", "RegistryUnreachable",
     "can't be pulled: the nodes' proxy requires an account",
     "add an account to the container runtime's proxy setting, or exempt the registry from it"},
    {"toomanyrequests", "RegistryUnreachable", "can't be pulled: the registry limits the rate",
     kPullLess},
    {"429 too many requests", "RegistryUnreachable",
     "can't be pulled: the registry limits the rate", kPullLess},
    {"unauthorized", "RegistryDenied", "can't be pulled: the registry denies access", kPullSecret},
    {"status: 401", "RegistryDenied", "can't be pulled: the registry denies access", kPullSecret},
    {"statuscode: 401", "RegistryDenied", "can't be pulled: the registry denies access",
     kPullSecret},
    {"402 payment required", "RegistryDenied", "can't be pulled: the registry denies access",
     kPullSecret},
    {"statuscode: 402", "RegistryDenied", "can't be pulled: the registry denies access",
     kPullSecret},
    {"403 forbidden", "RegistryDenied", "can't be pulled: the registry denies access", kPullSecret},
    {"403 (forbidden)", "RegistryDenied", "can't be pulled: the registry denies access",
     kPullSecret},
    {"statuscode: 403", "RegistryDenied", "can't be pulled: the registry denies access",
     kPullSecret},
    {"requested access to the resource is denied", "RegistryDenied",
     "can't be pulled: the registry denies access", kPullSecret},
    {"no basic auth credentials", "RegistryDenied", "can't be pulled: the registry denies access",
     kPullSecret},
    {"authorization failed", "RegistryDenied", "can't be pulled: the registry denies access",
     kPullSecret},
    {"authentication required", "RegistryDenied", "can't be pulled: the registry denies access",
     kPullSecret},
    {"x509", "RegistryUnreachable", "can't be pulled: the registry's certificate is not trusted",
     "add the registry's certificate to the nodes' container runtime"},
    {"http response to https client", "RegistryUnreachable",
     "can't be pulled: the registry uses HTTP without TLS",
     "enable TLS on the registry, or configure it as insecure in the nodes' container runtime"},
    {"proxyconnect", "RegistryUnreachable", "can't be pulled: the nodes' proxy does not respond",
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
    // As containerd, Docker and CRI-O write it.
    {"no match for platform", "ImageMissing", "has no variant for the node's architecture",
     kEachArchitecture},
    {"no matching manifest for", "ImageMissing", "has no variant for the node's architecture",
     kEachArchitecture},
    {"no image found in image index for architecture", "ImageMissing",
     "has no variant for the node's architecture", kEachArchitecture},
    {"no image found in manifest list for architecture", "ImageMissing",
     "has no variant for the node's architecture", kEachArchitecture},
});

// Reasons of the kubelet that are the cause themselves.
constexpr std::array kPullReasons = std::to_array<Meaning>({
    {"RegistryUnavailable", "RegistryUnreachable", "can't be pulled", kMirror},
    {"SignatureValidationFailed", "ImageNotTrusted",
     "has no signature that the nodes' container runtime trusts",
     "sign it, or correct the runtime's policy for signatures"},
    {"InvalidImageName", "ImageNameInvalid", "has an invalid name", kCorrectImage},
    {"ErrImageNeverPull", "ImageMissing", "is not on the node, and its imagePullPolicy is Never",
     "copy it to the nodes, or set imagePullPolicy of its section in the ClusterPolicy"},
});

bool SaysMissing(std::string_view words) {
  return words.find("not found") != std::string_view::npos ||
         words.find("manifest unknown") != std::string_view::npos ||
         words.find("name unknown") != std::string_view::npos ||
         words.find("repository name not known") != std::string_view::npos;
}

// The registry's host in an image reference, by Docker's reference grammar.
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
                   format("kubectl describe pod -n {} {}", container.ns, container.pod));
  }
  if (BringsDriver(container.app)) {
    return Problem(
        "DriverImageMissing", "",
        format("the driver image {} does not exist for the node's operating system or kernel",
               container.image),
        "set a driver.version that has one, set driver.usePrecompiled=false, or "
        "install the driver on the nodes and set driver.enabled=false");
  }
  return Problem("ImageMissing", "", format("its image {} does not exist", container.image),
                 kCorrectImage);
}

// A missing account does not explain a registry that does not respond.
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
