// SPDX-License-Identifier: Apache-2.0
// Labels are tested by folders of tests/golden/node_features, each a node's files: host-sys,
// host-etc/os-release, host-proc, features.d, and `labels`, what must come out. GANTRY_ACCEPT=1
// writes what came out.
#include "operands/node_features/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/paths.h"
#include "base/text.h"
#include "operands/node_features/gather.h"

namespace gantry::node_features {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

constexpr char kGolden[] = "tests/golden/node_features";
const WallTime kNow = std::chrono::system_clock::from_time_t(1767225600);  // 2026-01-01T00:00:00Z

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, Labels) {
  const std::string folder = std::string(kGolden) + "/" + GetParam();
  const Result<Facts> facts = Gather({.sys = folder + "/host-sys",
                                      .os_release = folder + "/host-etc/os-release",
                                      .proc = folder + "/host-proc",
                                      .features_dir = folder + "/features.d"});
  ASSERT_TRUE(facts.has_value()) << facts.error().message;
  const Labelled labelled = NodeLabels(*facts, {}, kNow);
  std::string text;
  for (const auto& [key, value] : labelled.labels) {
    text += format("{}={}\n", key, value);
  }
  for (const std::string& warning : labelled.warnings) {
    text += format("warning: {}\n", warning);
  }
  if (std::getenv("GANTRY_ACCEPT") != nullptr) {
    std::ofstream(folder + "/labels") << text;
  }
  EXPECT_EQ(text, ReadFile(folder + "/labels").value_or(""));
}

INSTANTIATE_TEST_SUITE_P(
    Case, Golden, testing::ValuesIn(ListDirectory(kGolden).value_or(std::vector<std::string>{})),
    [](const auto& each) { return each.param; });

TEST(Golden, ThereAreCases) { EXPECT_GE(ListDirectory(kGolden).value().size(), 3U); }

TEST(Gather, AMissingSysIsAnError) {
  const auto facts =
      Gather({.sys = "/no/such/sys", .os_release = "", .proc = "", .features_dir = ""});
  ASSERT_FALSE(facts.has_value());
  EXPECT_EQ(facts.error().kind, ErrorKind::kNotFound);
}

PciDevice Function(int vendor, int device, int class_code, bool sriov = false) {
  PciDevice pci;
  pci.function.vendor = vendor;
  pci.function.device = device;
  pci.function.class_code = class_code;
  pci.sriov_capable = sriov;
  return pci;
}

TEST(NodeLabels, PciByFieldsAndClass) {
  Facts facts;
  facts.pci = {Function(0x10de, 0x1eb8, 0x030200, true), Function(0x8086, 0x1234, 0x010601),
               Function(0x15b3, 0x1017, 0x020000)};
  EXPECT_THAT(NodeLabels(facts, {}, kNow).labels,
              ElementsAre(Pair("feature.node.kubernetes.io/pci-10de.present", "true"),
                          Pair("feature.node.kubernetes.io/pci-10de.sriov.capable", "true"),
                          Pair("feature.node.kubernetes.io/pci-15b3.present", "true")));
  EXPECT_THAT(
      NodeLabels(facts, {.pci_classes = {"01"}, .pci_fields = {"class", "vendor", "device"}}, kNow)
          .labels,
      ElementsAre(Pair("feature.node.kubernetes.io/pci-0106_8086_1234.present", "true")));
}

std::map<std::string, std::string> Kernel(const std::string& release) {
  Facts facts;
  facts.kernel_release = release;
  std::map<std::string, std::string> parts;
  for (const auto& [key, value] : NodeLabels(facts, {}, kNow).labels) {
    parts[key.substr(key.rfind("version.") + 8)] = value;
  }
  return parts;
}

TEST(NodeLabels, KernelVersions) {
  EXPECT_THAT(Kernel("6.1.0-18-amd64\n"),
              ElementsAre(Pair("full", "6.1.0-18-amd64"), Pair("major", "6"), Pair("minor", "1"),
                          Pair("revision", "0")));
  EXPECT_THAT(Kernel("5.14+custom~1-"),
              ElementsAre(Pair("full", "5.14_custom_1"), Pair("major", "5"), Pair("minor", "14")));
  EXPECT_THAT(Kernel("mainline"), ElementsAre(Pair("full", "mainline")));
  EXPECT_THAT(Kernel(""), IsEmpty());
}

TEST(NodeLabels, WhatKubernetesRefusesIsLeftOutAlone) {
  Facts facts;
  facts.local_files = {{"mine",
                        "good=1\nbad key=2\nx/y/z=3\nvalue=with space\n-x=1\nUPPER.com/a=1\n"
                        "empty=\nlong=" +
                            std::string(64, 'a')}};
  const Labelled labelled = NodeLabels(facts, {}, kNow);
  EXPECT_THAT(labelled.labels, ElementsAre(Pair("feature.node.kubernetes.io/empty", ""),
                                           Pair("feature.node.kubernetes.io/good", "1")));
  EXPECT_EQ(labelled.warnings.size(), 6U);
}

TEST(LocalFiles, LinesAndDirectives) {
  const LocalLabels local = ReadLocalFiles(
      {{"20-later", "shared=later\n"},
       {"10-first",
        "# a comment\n\nflag\n vendor.io/feature = value \nshared=first\n# +no-label\nhidden=1\n"
        "# +no-feature\nshown=1\n# +nonsense\n"}},
      kNow);
  EXPECT_THAT(local.labels, ElementsAre(Pair("flag", "true"), Pair("shared", "later"),
                                        Pair("shown", "1"), Pair("vendor.io/feature", "value")));
  EXPECT_THAT(local.warnings, ElementsAre(HasSubstr("unknown directive \"+nonsense\""),
                                          HasSubstr("shared is also in 10-first")));
  EXPECT_FALSE(local.next_expiry.has_value());
}

TEST(LocalFiles, LinesExpire) {
  const std::string text =
      "# +expiry-time=2025-12-31T23:59:59Z\nold=1\n"
      "# +expiry-time=2026-01-01T02:30:00+01:00\nsoon=1\n"
      "# +expiry-time=2026-06-01T00:00:00.5Z\nlater=1\n"
      "# +expiry-time=tomorrow\nalways=1\n";
  const LocalLabels local = ReadLocalFiles({{"f", text}}, kNow);
  EXPECT_THAT(local.labels, Not(Contains(Pair("old", "1"))));
  EXPECT_THAT(local.labels,
              ElementsAre(Pair("always", "1"), Pair("later", "1"), Pair("soon", "1")));
  EXPECT_EQ(local.next_expiry, kNow + std::chrono::minutes(90));
  EXPECT_THAT(local.warnings, ElementsAre(HasSubstr("\"tomorrow\" is no time")));
  const LocalLabels then = ReadLocalFiles({{"f", text}}, kNow + std::chrono::minutes(90));
  EXPECT_FALSE(then.labels.contains("soon"));
}

}  // namespace
}  // namespace gantry::node_features
