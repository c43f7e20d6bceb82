// SPDX-License-Identifier: Apache-2.0

#include "policy/feature_labels.h"

#include <gtest/gtest.h>

#include <string>

#include "policy/names.h"

namespace gantry::policy {
namespace {

PciLabel Read(const std::string& fields) {
  return ReadPciLabel("feature.node.kubernetes.io/pci-" + fields + ".present");
}

// A T4 of NVIDIA's (class 0302, device 1eb8, subsystem 10de:12a2), in each form that
// deviceLabelFields can make and that names the vendor.
TEST(FeatureLabels, Op1469_AGpuCountsInEveryFormThatNamesItsVendor) {
  for (const bool with_class : {false, true}) {
    for (const bool device : {false, true}) {
      for (const bool subsystem_vendor : {false, true}) {
        for (const bool subsystem_device : {false, true}) {
          const std::string fields = std::string(with_class ? "0302_" : "") + "10de" +
                                     (device ? "_1eb8" : "") + (subsystem_vendor ? "_10de" : "") +
                                     (subsystem_device ? "_12a2" : "");
          EXPECT_EQ(Read(fields), PciLabel::kGpu) << fields;
        }
      }
    }
  }
  for (const char* fields : {"0300_10de", "0301_10de", "0380_10de_2204"}) {
    EXPECT_EQ(Read(fields), PciLabel::kGpu) << fields;
  }
}

TEST(FeatureLabels, Op1469_ADisplayDeviceWithoutAVendorIsUnclear) {
  for (const char* fields : {"0302", "0302_1eb8", "0302_1eb8_10de", "0302_12a2", "0300"}) {
    EXPECT_EQ(Read(fields), PciLabel::kUnclear) << fields;
  }
}

TEST(FeatureLabels, WhatIsNoNvidiaGpuSaysNothing) {
  for (const char* fields :
       {"15b3", "0200_15b3_1017", "0300_1a03", "0300_1a03_2000", "0403_10de", "0680_10de_22a3",
        "1eb8", "", "10DE", "10de_", "0302_10de.x", "gpu", "15b3_1017_10de"}) {
    EXPECT_EQ(Read(fields), PciLabel::kNothing) << fields;
  }
  for (const char* key : {"feature.node.kubernetes.io/pci-10de.sriov.capable",
                          "feature.node.kubernetes.io/pci-.present", "pci-10de.present",
                          "feature.node.kubernetes.io/usb-10de.present"}) {
    EXPECT_EQ(ReadPciLabel(key), PciLabel::kNothing) << key;
  }
}

TEST(FeatureLabels, OperandsAreDecidedByGpusAndSystems) {
  EXPECT_TRUE(DecidesOperands(names::kPciNvidia));
  EXPECT_TRUE(DecidesOperands("feature.node.kubernetes.io/pci-0302_10de_1eb8.present"));
  EXPECT_TRUE(DecidesOperands(names::kKernelVersion));
  EXPECT_FALSE(DecidesOperands("feature.node.kubernetes.io/pci-0302.present"));
  EXPECT_FALSE(DecidesOperands("feature.node.kubernetes.io/cpu-model.id"));
}

Json Devices(const std::string& elements) {
  return ParseJson(R"({"instances": {"pci.device": {"elements": )" + elements + "}}}").value();
}

TEST(FeatureLabels, RawFeaturesHaveTheGpuWhateverTheLabelsAre) {
  EXPECT_EQ(HasPciGpu(Devices(R"([{"attributes": {"class": "0200", "vendor": "15b3"}},
                                  {"attributes": {"class": "0302", "vendor": "10de"}}])")),
            true);
  EXPECT_EQ(HasPciGpu(Devices(R"([{"attributes": {"class": "0302", "vendor": "1002"}},
                                  {"attributes": {"class": "0403", "vendor": "10de"}}])")),
            false);
  EXPECT_EQ(HasPciGpu(Devices(R"([{"attributes": {"class": 3, "vendor": "10de"}}, 1])")), false);
  for (const char* nothing : {"[]", "null", "{}"}) {
    EXPECT_EQ(HasPciGpu(Devices(nothing)), std::nullopt) << nothing;
  }
  EXPECT_EQ(HasPciGpu(Json::object()), std::nullopt);
  EXPECT_EQ(HasPciGpu(Json()), std::nullopt);
}

}  // namespace
}  // namespace gantry::policy
