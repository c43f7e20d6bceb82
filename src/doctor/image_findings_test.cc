// SPDX-License-Identifier: Apache-2.0
#include "doctor/image_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/testing/containers.h"

namespace gantry::doctor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

struct Pull {
  const char* app;
  const char* message;  // the kubelet's
  const char* code;
};

class ImageFindings : public ContainerTest {
 protected:
  void ExpectCodes(std::initializer_list<Pull> pulls) {
    for (const auto& [app, message, code] : pulls) {
      for (const char* waiting : {"ImagePullBackOff", "ErrImagePull"}) {
        ContainerFacts container = Of(app, waiting);
        container.message = message;
        EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, code))) << message;
      }
    }
  }
};

TEST_F(ImageFindings, WhatContainerdSays) {
  ExpectCodes(
      {{kDriverApp, "manifest for registry/x:1 not found: manifest unknown", "DriverImageMissing"},
       {"nvidia-driver-daemonset-5.15.0-ubuntu22.04", "not found", "DriverImageMissing"},
       {kPluginApp, "not found", "ImageMissing"},
       {kPluginApp, "Back-off pulling image \"registry/x:1\"", "ImageNotPulled"},
       {kDriverApp, "Back-off pulling image \"registry/x:1\"", "ImageNotPulled"},
       {kPluginApp,
        "Back-off pulling image \"registry/x:1\": Failed to pull image \"registry/x:1\": rpc "
        "error: code = NotFound desc = failed to resolve reference: registry/x:1: not found",
        "ImageMissing"},
       {kDriverApp, "failed to do request: dial tcp: lookup registry: no such host",
        "RegistryUnreachable"},
       {kPluginApp, "dial tcp 10.0.0.1:443: i/o timeout", "RegistryUnreachable"},
       {kPluginApp, "tls: failed to verify certificate: x509: certificate signed by unknown",
        "RegistryUnreachable"},
       {kDriverApp, "failed to authorize: 401 Unauthorized", "RegistryDenied"},
       {kPluginApp, "unexpected status: 403 Forbidden", "RegistryDenied"},
       {kPluginApp, "invalid status code from registry 403 (Forbidden)", "RegistryDenied"},
       {kPluginApp, "StatusCode: 403, \"<html>\"", "RegistryDenied"},
       {kDriverApp, "reading manifest 1: denied: requested access to the resource is denied",
        "RegistryDenied"},
       {kPluginApp, "Head \"https://x/v2/y\": no basic auth credentials", "RegistryDenied"},
       {kPluginApp, "unexpected status from HEAD request: 402 Payment Required", "RegistryDenied"},
       {kDriverApp, "toomanyrequests: You have reached your pull rate limit",
        "RegistryUnreachable"},
       {kPluginApp, "unexpected status: 429 Too Many Requests", "RegistryUnreachable"},
       {kDriverApp, "context deadline exceeded", "RegistryUnreachable"},
       {kDriverApp, "net/http: TLS handshake timeout", "RegistryUnreachable"},
       {kDriverApp, "net/http: request canceled (Client.Timeout exceeded while awaiting headers)",
        "RegistryUnreachable"},
       {kDriverApp, "dial tcp 10.0.0.1:443: connect: no route to host", "RegistryUnreachable"},
       {kDriverApp, "read tcp 10.0.0.1:443: read: connection reset by peer", "RegistryUnreachable"},
       {kDriverApp, "dial tcp: lookup registry on 10.0.0.1:53: server misbehaving",
        "RegistryUnreachable"},
       {kDriverApp, "proxyconnect tcp: dial tcp 10.0.0.2:3128: EOF", "RegistryUnreachable"},
       {kDriverApp, "unexpected status: 502 Bad Gateway", "RegistryUnreachable"},
       {kDriverApp, "http: server gave HTTP response to HTTPS client", "RegistryUnreachable"},
       {kDriverApp, "proxyconnect tcp: Proxy Authentication Required", "RegistryUnreachable"},
       {kDriverApp,
        "failed to do request: Head \"https://x/v2/y/manifests/1\": Proxy Authentication "
        "Required",
        "RegistryUnreachable"},
       {kDriverApp, "dial tcp 10.0.0.1:443: connect: connection timed out", "RegistryUnreachable"},
       {kDriverApp, "failed to do request: Head \"https://x/v2/y/manifests/1\": EOF",
        "RegistryUnreachable"},
       {kDriverApp, "unexpected status from HEAD request: 504 Gateway Timeout",
        "RegistryUnreachable"}});
}

TEST_F(ImageFindings, WhatCrioSaysAndOfOtherArchitectures) {
  ExpectCodes(
      {// CRI-O's.
       {kPluginApp, "reading manifest 1 in registry/x: requested access to the resource is denied",
        "RegistryDenied"},
       {kPluginApp, "reading manifest 1 in registry/x: repository name not known to registry",
        "ImageMissing"},
       {kPluginApp, "unauthorized: authentication required", "RegistryDenied"},
       {kPluginApp, "sha256:0401 not found", "ImageMissing"},
       // Another architecture's, as containerd, Docker and CRI-O say it.
       {kDriverApp,
        "failed to pull and unpack image \"registry/x:1\": no match for platform in manifest: "
        "not found",
        "ImageMissing"},
       {kPluginApp, "no matching manifest for linux/arm64/v8 in the manifest list entries",
        "ImageMissing"},
       {kPluginApp,
        "choosing image instance: no image found in image index for architecture "
        "\"arm64\", variant \"v8\", OS \"linux\"",
        "ImageMissing"}});
}

TEST_F(ImageFindings, AnImageOfAnotherArchitecture) {
  ContainerFacts container = Of(kPluginApp, "ImagePullBackOff");
  container.message = "no match for platform in manifest: not found";
  EXPECT_THAT(Operand({container}),
              ElementsAre(AllOf(Field(&Finding::message, HasSubstr("the node's architecture")),
                                Field(&Finding::remedy, HasSubstr("all architectures")))));
}

TEST_F(ImageFindings, APullSecretThatIsNotThere) {
  ContainerFacts container = Of(kPluginApp, "ImagePullBackOff");
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

TEST_F(ImageFindings, ImagesThatTheKubeletDoesNotPull) {
  struct Case {
    const char* waiting;
    const char* code;
  };
  for (const auto& [waiting, code] :
       std::initializer_list<Case>{{"RegistryUnavailable", "RegistryUnreachable"},
                                   {"InvalidImageName", "ImageNameInvalid"},
                                   {"ErrImageNeverPull", "ImageMissing"},
                                   {"SignatureValidationFailed", "ImageNotTrusted"}}) {
    for (const char* app : {kDriverApp, kPluginApp}) {
      EXPECT_THAT(Operand({Of(app, waiting)}), ElementsAre(Field(&Finding::code, code)));
    }
  }
}

}  // namespace
}  // namespace gantry::doctor
