// SPDX-License-Identifier: Apache-2.0
#include "doctor/refusal_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/testing/gpu_cluster.h"

namespace gantry::doctor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Refusals = GpuClusterTest;

TEST_F(Refusals, RequestsWithoutLimits) {
  const RefusalFacts refusal = {
      .object = "Deployment default/train",
      .message =
          "Error creating: Pod \"train-5d-x\" is invalid: "
          "spec.containers[0].resources.limits: Required value: Limit must be set for non "
          "overcommitable resources"};
  cluster_.refusals = {refusal, refusal};
  const auto findings = With({});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].code, "LimitsMissing");
  EXPECT_THAT(LineOf(findings[0]), AllOf(HasSubstr("Deployment default/train"), HasSubstr("limits"),
                                         HasSubstr("requests")));
}

TEST_F(Refusals, AQuotaThatIsUsedUp) {
  cluster_.refusals = {
      {.object = "Job default/j",
       .message = "Error creating: pods \"j-x\" is forbidden: exceeded quota: gpus, requested: "
                  "requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=2, limited: "
                  "requests.nvidia.com/gpu=2"}};
  const auto findings = With({});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].code, "QuotaExceeded");
  EXPECT_THAT(findings[0].message, HasSubstr("exceeded quota: gpus"));
}

TEST_F(Refusals, OtherRefusals) {
  struct Case {
    const char* message;
    bool operand;
    const char* code;  // nullptr: none
  };
  for (const auto& [message, operand, code] : std::initializer_list<Case>{
           {"pods \"x\" is forbidden: pod rejected: RuntimeClass \"nvidia\" not found", false,
            "RuntimeClassMissing"},
           {"pods \"x\" is forbidden: pod rejected: RuntimeClass \"gvisor\" not found", false,
            nullptr},
           {"pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\": privileged", true,
            "PodSecurityForbids"},
           {"pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\": privileged",
            false, nullptr},
           {"pods \"x\" is forbidden: insufficient quota to match these scopes: [{PriorityClass In "
            "[system-node-critical]}]",
            true, "PriorityQuotaMissing"},
           {"Internal error occurred: failed calling webhook \"a.b.c\": no endpoints available",
            true, "WebhookFails"},
           {"Internal error occurred: failed calling webhook \"a.b.c\": no endpoints available",
            false, nullptr},
           {"pods \"x\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1", false,
            nullptr},
           {"pods \"x\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1", true,
            "PodsRefused"},
           {"admission webhook \"validate.kyverno.svc-fail\" denied the request: no hostPath", true,
            "PodsRefused"},
           {"admission webhook \"validate.kyverno.svc-fail\" denied the request: no hostPath",
            false, nullptr},
           {"pods \"x\" is forbidden: maximum cpu usage per Container is 1, but limit is 2", true,
            "PodsRefused"},
           {"pods \"x\" is forbidden: maximum nvidia.com/gpu usage per Container is 1, but limit "
            "is 2",
            false, "QuotaExceeded"},
           {"serviceaccount \"y\" not found", true, "PodsRefused"}}) {
    cluster_.refusals = {{.object = "DaemonSet a/x", .message = message, .operand = operand}};
    EXPECT_EQ(ExamineRefusal(cluster_.refusals[0]).has_value(), code != nullptr) << message;
    if (code == nullptr) {
      EXPECT_THAT(With({}), IsEmpty()) << message;
    } else {
      EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, code))) << message;
    }
  }
}

// Every rejection of pods with GPUs is reported, in words for their users.
TEST_F(Refusals, RefusalsOfPodsWithGpus) {
  struct Case {
    const char* message;
    const char* code;  // nullptr: none
    const char* remedy;
  };
  for (const auto& [message, code, remedy] : std::initializer_list<Case>{
           {"pods \"x\" is forbidden: exceeded quota: q, requested: requests.cpu=8, used: "
            "requests.cpu=2, limited: requests.cpu=8",
            "PodsRefused", "ResourceQuota of its namespace"},
           {"pods \"x\" is forbidden: failed quota: q: must specify limits.cpu for: main",
            "PodsRefused", "resources of its pod template"},
           {"admission webhook \"validate.kyverno.svc-fail\" denied the request: no hostPath",
            "PodsRefused", "exempt its namespace"},
           {"ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", "PodsRefused",
            "exempt its namespace"},
           {"pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\": privileged",
            "PodsRefused", "pod-security.kubernetes.io/enforce"},
           {"pods \"x\" is forbidden: error looking up service account default/y: serviceaccount "
            "\"y\" not found",
            "PodsRefused", "serviceAccountName"},
           {"Internal error occurred: failed calling webhook \"a.b.c\": no endpoints available",
            "PodsRefused", "fix that webhook"},
           {"pods \"x\" is forbidden: minimum memory usage per Container is 1Gi", "PodsRefused",
            "LimitRange of its namespace"},
           {"something else", "PodsRefused", "change what refuses them"},
           // What GPUs have to do with has words of its own.
           {"pods \"x\" is forbidden: exceeded quota: q, requested: requests.nvidia.com/gpu=1",
            "QuotaExceeded", "ResourceQuota"},
           {"pods \"x\" is forbidden: unable to create new content in namespace a because it is "
            "being terminated",
            nullptr, ""}}) {
    cluster_.refusals = {
        {.object = "Deployment default/train", .message = message, .wants_gpus = true}};
    EXPECT_EQ(ExamineRefusal(cluster_.refusals[0]).has_value(), code != nullptr) << message;
    if (code == nullptr) {
      EXPECT_THAT(With({}), IsEmpty()) << message;
      continue;
    }
    EXPECT_THAT(With({}), ElementsAre(AllOf(Field(&Finding::code, code),
                                            Field(&Finding::object, "Deployment default/train"),
                                            Field(&Finding::remedy, HasSubstr(remedy)))))
        << message;
    EXPECT_THAT(With({})[0].remedy, Not(HasSubstr("operator"))) << message;
  }
}

TEST_F(Refusals, LimitsThatCannotBe) {
  for (const char* message : {"Error creating: Pod \"x\" is invalid: "
                              "spec.containers[0].resources.requests: Invalid value: "
                              "\"1\": must be equal to nvidia.com/gpu limit of 2",
                              "Error creating: Pod \"x\" is invalid: "
                              "spec.containers[0].resources.limits[nvidia.com/gpu]: "
                              "Invalid value: \"500m\": must be an integer"}) {
    cluster_.refusals = {{.object = "PyTorchJob default/train", .message = message}};
    EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "LimitsInvalid"))) << message;
  }
  cluster_.refusals = {{.object = "PyTorchJob default/train",
                        .message = "spec.containers[0].resources.limits[example.com/nic]: Invalid "
                                   "value: \"500m\": must be an integer"}};
  EXPECT_THAT(With({}), IsEmpty());
}

// A mistyped name.
TEST_F(Refusals, ARuntimeClassOfPodsWithGpus) {
  cluster_.refusals = {
      {.object = "Deployment default/train",
       .message = "Error creating: pods \"x\" is forbidden: pod rejected: RuntimeClass \"nvida\" "
                  "not found"}};
  EXPECT_THAT(With({}), IsEmpty());
  cluster_.refusals[0].wants_gpus = true;
  EXPECT_THAT(With({}),
              ElementsAre(AllOf(Field(&Finding::code, "RuntimeClassMissing"),
                                Field(&Finding::message, HasSubstr("\"nvida\" not found")))));
}

}  // namespace
}  // namespace gantry::doctor
