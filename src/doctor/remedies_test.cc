// SPDX-License-Identifier: Apache-2.0
#include "doctor/remedies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace gantry::doctor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

// As kube-apiserver 1.36 says it.
TEST(Remedies, Op364_TheWordsOfTheApiServerNameTheRemedy) {
  const std::pair<const char*, const char*> kCases[] = {
      {"create daemonset gpu-operator/x: DaemonSet.apps \"x\" is invalid: spec.template.spec."
       "containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy",
       "kube-apiserver with --allow-privileged=true"},
      {"daemonsets.apps \"x\" is forbidden: ValidatingAdmissionPolicy 'no-host-paths' with binding "
       "'all-spaces' denied request: no",
       "change the ValidatingAdmissionPolicy no-host-paths, or exempt the operator's namespace in "
       "its binding all-spaces"},
      {"admission webhook \"validate.kyverno.svc-fail\" denied the request: no",
       "webhook validate.kyverno.svc-fail"},
      {"Internal error occurred: failed calling webhook \"vpod.kb.io\": connection refused",
       "fix the webhook vpod.kb.io"},
      {"daemonsets.apps \"x\" is forbidden: exceeded quota: objects, requested: "
       "count/daemonsets.apps=1",
       "ResourceQuota objects"},
      {"daemonsets.apps is forbidden: User \"system:serviceaccount:g:g\" cannot create resource",
       "install the chart again"},
      {"unable to create new content in namespace g because it is being terminated",
       "wait until the namespace is deleted"},
      {"namespaces \"g\" not found", "create the namespace"}};
  for (const auto& [words, remedy] : kCases) {
    EXPECT_THAT(RemedyByWords(words), HasSubstr(remedy)) << words;
  }
  EXPECT_EQ(RemedyByWords("it rains"), "");
  EXPECT_EQ(RemedyByWords("ValidatingAdmissionPolicy 'cut"), "");
}

TEST(Remedies, FieldsOfOperandsNeedAnImage) {
  EXPECT_THAT(RemedyForFields({"driver"}),
              AllOf(HasSubstr("spec.driver.version"), Not(HasSubstr("remove the fields"))));
  EXPECT_THAT(RemedyForFields({"dcgmExporter"}),
              HasSubstr("repository, image and version of spec.dcgmExporter"));
  EXPECT_EQ(RemedyForFields({"daemonsets.rollingUpdate.x"}),
            "remove the fields if you do not need them");
  EXPECT_THAT(RemedyForFields({"driver", "x.y"}),
              AllOf(HasSubstr("spec.driver.version"), HasSubstr("remove the fields")));
}

TEST(Remedies, OneCauseIsOneFinding) {
  const auto of = [](const char* object, const char* cause) {
    Finding finding = Problem("RegistryUnreachable", object, object, "r");
    finding.cause = cause;
    return finding;
  };
  std::vector<Finding> findings = {of("a", "r1"), of("b", "r2"), of("c", "r1"), of("d", ""),
                                   of("e", "")};
  JoinCauses(findings);
  EXPECT_THAT(findings,
              ElementsAre(AllOf(Field(&Finding::object, "a, c"), Field(&Finding::message, "a")),
                          Field(&Finding::object, "b"), Field(&Finding::object, "d"),
                          Field(&Finding::object, "e")));
}

}  // namespace
}  // namespace gantry::doctor
