// SPDX-License-Identifier: Apache-2.0
#include "doctor/remedy_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/testing/containers.h"

namespace gantry::doctor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

using RemedyFields = ContainerTest;

// Its fields are others than the policy's.
TEST_F(RemedyFields, DriversOfNvidiaDrivers) {
  struct Case {
    const char* waiting;
    const char* words;  // of its image or in its log
    const char* remedy;
    const char* of_policy;
  };
  for (const auto& [waiting, words, remedy, of_policy] : std::initializer_list<Case>{
           {"ImagePullBackOff", "not found",
            "set a spec.version of its NVIDIADriver that has one, set "
            "spec.usePrecompiled=false, or "
            "install the driver on the nodes and exclude the nodes in its NVIDIADriver's "
            "nodeSelector",
            "set driver.enabled=false"},
           {"ImagePullBackOff", "401 Unauthorized", "imagePullSecrets of its NVIDIADriver",
            "imagePullSecrets of its section"},
           {"CrashLoopBackOff", "No precompiled package found", "spec.usePrecompiled=false",
            "driver.usePrecompiled=false"},
           {"CrashLoopBackOff", "Could not resolve host", "spec.repoConfig", "driver.repoConfig"},
           {"CrashLoopBackOff", "could not insert 'nvidia': No such device",
            "spec.kernelModuleType=proprietary", "driver.kernelModuleType=proprietary"}}) {
    for (const auto& [app, expected] : {std::pair("nvidia-gpu-driver-ubuntu22.04-5d8f", remedy),
                                        std::pair(kDriverApp, of_policy)}) {
      ContainerFacts container = Crashing(app, words);
      container.waiting = waiting;
      container.message = words;
      EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::remedy, HasSubstr(expected))))
          << words;
    }
  }
}

// No section of the ClusterPolicy is theirs.
TEST_F(RemedyFields, RemediesOfTheOperatorsImage) {
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
           {"ImagePullBackOff", "no such host", "set operator.repository"},
           {"ImagePullBackOff", "401 Unauthorized", "set operator.imagePullSecrets of the chart"},
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

}  // namespace
}  // namespace gantry::doctor
