// SPDX-License-Identifier: Apache-2.0
// Labels are tested by folders of tests/golden/node_features, each a node's files: host-sys,
// host-etc/os-release, host-proc, features.d, custom.d, and `labels`, what must come out.
// GANTRY_ACCEPT=1 writes what came out.
#include "operands/node_features/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <tuple>
#include <utility>

#include "base/paths.h"
#include "base/text.h"
#include "nfd/label_policy.h"
#include "operands/node_features/gather.h"
#include "operands/node_features/worker_config.h"

namespace gantry::node_features {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr char kGolden[] = "tests/golden/node_features";
const WallTime kNow = std::chrono::system_clock::from_time_t(1767225600);  // 2026-01-01T00:00:00Z

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, Labels) {
  const std::string folder = std::string(kGolden) + "/" + GetParam();
  const Result<Facts> facts = Gather({.sys = folder + "/host-sys",
                                      .os_release = folder + "/host-etc/os-release",
                                      .proc = folder + "/host-proc",
                                      .features_dir = folder + "/features.d",
                                      .swaps = folder + "/host-proc/swaps",
                                      .boot = folder + "/host-boot",
                                      .modules = folder + "/host-lib/modules",
                                      .custom_dir = folder + "/custom.d"});
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
  EXPECT_THAT(NodeLabels(facts, {.label_sources = {"pci"}}, kNow).labels,
              ElementsAre(Pair("feature.node.kubernetes.io/pci-10de.present", "true"),
                          Pair("feature.node.kubernetes.io/pci-10de.sriov.capable", "true"),
                          Pair("feature.node.kubernetes.io/pci-15b3.present", "true")));
  EXPECT_THAT(NodeLabels(facts,
                         {.pci_classes = {"01"},
                          .pci_fields = {"class", "vendor", "device"},
                          .label_sources = {"pci"}},
                         kNow)
                  .labels,
              ElementsAre(Pair("feature.node.kubernetes.io/pci-0106_8086_1234.present", "true"),
                          Pair("feature.node.kubernetes.io/pci-10de.present", "true")));
}

TEST(NodeLabels, Op1469_WhatTheOperatorNeedsIsSaidHoweverLabelsAreConfigured) {
  Facts facts;
  facts.pci = {Function(0x10de, 0x1eb8, 0x030200)};
  facts.kernel_release = "6.1.0-18-amd64";
  facts.os_release = "ID=debian\nVERSION_ID=12\n";
  const char* const kConfigurations[] = {"sources: {pci: {deviceLabelFields: [vendor, device]}}",
                                         "sources: {pci: {deviceLabelFields: [class, device]}}",
                                         "sources: {pci: {deviceLabelFields: [subsystem_vendor]}}",
                                         "sources: {pci: {deviceClassWhitelist: ['02']}}",
                                         "core: {labelSources: [cpu]}",
                                         "core: {labelWhiteList: ^cpu}"};
  for (const char* const configuration : kConfigurations) {
    WorkerConfig config;
    ASSERT_TRUE(Overlay(configuration, config).has_value()) << configuration;
    EXPECT_THAT(
        NodeLabels(facts, config.labels, kNow).labels,
        IsSupersetOf({Pair("feature.node.kubernetes.io/pci-10de.present", "true"),
                      Pair("feature.node.kubernetes.io/kernel-version.full", "6.1.0-18-amd64"),
                      Pair("feature.node.kubernetes.io/system-os_release.ID", "debian"),
                      Pair("feature.node.kubernetes.io/system-os_release.VERSION_ID", "12")}))
        << configuration;
    Facts without = facts;
    without.pci = {Function(0x10de, 0x10f0, 0x040300)};  // a GPU's sound
    EXPECT_FALSE(NodeLabels(without, config.labels, kNow)
                     .labels.contains("feature.node.kubernetes.io/pci-10de.present"))
        << configuration;
  }
}

std::map<std::string, std::string> Kernel(const std::string& release) {
  Facts facts;
  facts.kernel_release = release;
  std::map<std::string, std::string> parts;
  for (const auto& [key, value] : NodeLabels(facts, {.label_sources = {"kernel"}}, kNow).labels) {
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
  const Labelled labelled = NodeLabels(facts, {.label_sources = {"local"}}, kNow);
  EXPECT_THAT(labelled.labels, ElementsAre(Pair("feature.node.kubernetes.io/empty", ""),
                                           Pair("feature.node.kubernetes.io/good", "1")));
  EXPECT_EQ(labelled.warnings.size(), 6U);
}

TEST(LocalFiles, LinesAndDirectives) {
  const LocalFeatures local = ReadLocalFiles(
      {{"20-later", "shared=later\n"},
       {"10-first",
        "# a comment\n\nflag\n vendor.io/feature = value \nshared=first\n# +no-label\nhidden=1\n"
        "# +no-feature\nshown=1\n# +nonsense\n#+no-label\n#  +no-label\ncomment=1\n"
        "twice=1\n# +no-label\ntwice=2\nunseen=1\n# +no-feature\nunseen=2\n"},
       {"05-other", "twice=0\n"}},
      kNow);
  EXPECT_THAT(local.labels,
              ElementsAre(Pair("comment", "1"), Pair("flag", "true"), Pair("shared", "later"),
                          Pair("shown", "1"), Pair("twice", "0"), Pair("unseen", "2"),
                          Pair("vendor.io/feature", "value")));
  EXPECT_THAT(local.features, ElementsAre(Pair("comment", "1"), Pair("flag", "true"),
                                          Pair("hidden", "1"), Pair("shared", "later"),
                                          Pair("twice", "2"), Pair("vendor.io/feature", "value")));
  EXPECT_THAT(local.warnings, ElementsAre(HasSubstr("unknown directive \"nonsense\""),
                                          HasSubstr("shared is also in 10-first")));
  EXPECT_FALSE(local.next_expiry.has_value());
}

TEST(LocalFiles, LinesExpire) {
  const std::string text =
      "# +expiry-time=2025-12-31T23:59:59Z\nold=1\n"
      "# +expiry-time=2026-01-01T02:30:00+01:00\nsoon=1\n"
      "# +expiry-time=2026-06-01T00:00:00.5Z\nlater=1\n"
      "# +expiry-time= 2025-06-01T00:00:00Z\nalso-old=1\n# +expiry-time=tomorrow\nstill-old=1\n";
  const LocalFeatures local = ReadLocalFiles({{"f", text}, {"g", "always=1\n"}}, kNow);
  EXPECT_THAT(local.labels,
              ElementsAre(Pair("always", "1"), Pair("later", "1"), Pair("soon", "1")));
  EXPECT_EQ(local.next_expiry, kNow + std::chrono::minutes(90));
  EXPECT_THAT(local.warnings, ElementsAre(HasSubstr("\"tomorrow\" is no time")));
  const LocalFeatures then = ReadLocalFiles({{"f", text}}, kNow + std::chrono::minutes(90));
  EXPECT_FALSE(then.labels.contains("soon"));
}

// A machine with everything that has a label.
Facts Rich() {
  Facts facts;
  facts.cpuinfo =
      "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
      "flags\t\t: fpu sse4_1 avx avx512f avx512_vnni amx_tile hypervisor unheard_of sgx\n";
  facts.hypervisor = "KVMKVMKVM";
  facts.frequencies.eax = 2300;
  facts.base_frequencies = {"2100000", "2700000"};
  facts.sgx = {{0x70200001, 0, 0x05d80001, 0}};
  facts.resources = {.features = {.ebx = 1U << 15U}, .allocation = {.ebx = 1U << 1U}};
  facts.packages = {"0", "1"};
  facts.huge_pages = {{"hugepages-1048576kB", "0"},
                      {"hugepages-2048kB", "512"},
                      {"hugepages-64kB", ""},
                      {"other", "1"}};
  facts.multithreading = true;
  facts.numa_nodes = 2;
  facts.swaps = "Filename Type\n/swap file\n";
  facts.nvdimms = {{{"name", "dax0"}, {"devtype", "nd_dax"}}};
  facts.block_devices = {{{"name", "sda"}, {"rotational", "1"}},
                         {{"name", "nvme0n1"}, {"rotational", "0"}}};
  facts.network_devices = {{{"name", "eth0"}, {"sriov_totalvfs", "8"}, {"sriov_numvfs", "0"}}};
  facts.usb_devices = {{{"class", "fe"}, {"vendor", "1a6e"}, {"device", "089a"}},
                       {{"class", "09"}, {"vendor", "1d6b"}, {"device", "0002"}}};
  facts.files = {{"devices/system/cpu/cpuidle/current_driver", "intel_idle"},
                 {"devices/system/cpu/intel_pstate/status", "active"},
                 {"devices/system/cpu/intel_pstate/no_turbo", "0"},
                 {"fs/cgroup/misc.capacity", "sev 99\nsev_es 10"},
                 {"fs/selinux/enforce", "1"},
                 {"module/intel_idle/parameters/max_cstate", "9"},
                 {"module/kvm_amd/parameters/sev", "Y"},
                 {"module/kvm_intel/parameters/tdx", "Y"},
                 {"class/dmi/id/sys_vendor", "NVIDIA"}};
  facts.governors = {"performance"};
  facts.kernel_config = {{"NO_HZ", "y"}, {"PREEMPT", "m"}, {"HZ", "250"}};
  facts.modules = "rdma_ucm 1 0 - Live 0x0\nib_uverbs 2 0 - Live 0x0\nnvidia_fs 3 0 - Live 0x0\n";
  facts.builtin = "kernel/fs/ext4/ext4.ko\nkernel/drivers/x-y.ko\nkernel/no-module\n";
  facts.pci = {Function(0x15b3, 0x1017, 0x020700)};
  return facts;
}

TEST(NodeLabels, TheFakeSourceSpeaksWhereItIsNamed) {
  const auto said = [](const std::string& text) {
    WorkerConfig config;
    EXPECT_TRUE(Overlay(text, config).has_value());
    LabelMap labels;
    const Labelled labelled = NodeLabels(Rich(), config.labels, kNow);
    for (const auto& [key, value] : labelled.labels) {
      if (key.find("fake") != std::string::npos) {
        labels[key] = value;
      }
    }
    return std::pair(labels, labelled.features);
  };
  constexpr char kFirst[] = "feature.node.kubernetes.io/fake-fakefeature1";
  auto [labels, features] = said("");
  EXPECT_TRUE(labels.empty());
  EXPECT_FALSE(features.flags.contains("fake.flag"));
  std::tie(labels, features) = said("core: {labelSources: [fake], featureSources: [all, fake]}");
  EXPECT_EQ(labels.size(), 3U);
  EXPECT_EQ(labels[kFirst], "true");
  EXPECT_THAT(features.flags["fake.flag"], ElementsAre("flag_1", "flag_2", "flag_3"));
  EXPECT_EQ(features.attributes["fake.attribute"]["attr_3"], "10");
  ASSERT_EQ(features.instances["fake.instance"].size(), 3U);
  EXPECT_EQ(features.instances["fake.instance"][0]["attr_4"], "foobar");
  std::tie(labels, features) = said(
      "core: {labelSources: [all, fake], featureSources: [fake]}\n"
      "sources: {fake: {labels: {fakefeature1: 'no', vendor.io/fake: 1}, flagFeatures: [f],"
      " attributeFeatures: {a: b}, instanceFeatures: [{c: d}]}}");
  EXPECT_THAT(labels,
              UnorderedElementsAre(Pair(kFirst, "no"), Pair("vendor.io/fake", "1"),
                                   Pair("feature.node.kubernetes.io/fake-fakefeature2", "true"),
                                   Pair("feature.node.kubernetes.io/fake-fakefeature3", "true")));
  EXPECT_THAT(features.flags["fake.flag"], ElementsAre("f"));
  EXPECT_EQ(features.attributes["fake.attribute"].size(), 4U);
  EXPECT_THAT(features.instances["fake.instance"], ElementsAre(ElementsAre(Pair("c", "d"))));
  WorkerConfig config;
  EXPECT_FALSE(Overlay("sources: {fake: {labels: [a]}}", config).has_value());
  EXPECT_FALSE(Overlay("sources: {fake: {instanceFeatures: {a: b}}}", config).has_value());
}

TEST(NodeLabels, OfEverySource) {
  LabelMap short_labels;
  const Labelled labelled = NodeLabels(Rich(), {}, kNow);
  for (const auto& [key, value] : labelled.labels) {
    short_labels[nfd::WithoutPrefix(key)] = value;
  }
  EXPECT_THAT(
      short_labels,
      ElementsAre(
          Pair("cpu-cpuid.AMXTILE", "true"), Pair("cpu-cpuid.AVX", "true"),
          Pair("cpu-cpuid.AVX512F", "true"), Pair("cpu-cpuid.AVX512VNNI", "true"),
          Pair("cpu-cpuid.HYPERVISOR", "true"), Pair("cpu-cpuid.X87", "true"),
          Pair("cpu-cstate.enabled", "true"), Pair("cpu-hardware_multithreading", "true"),
          Pair("cpu-model.family", "6"), Pair("cpu-model.hypervisor", "kvm"),
          Pair("cpu-model.id", "143"), Pair("cpu-model.vendor_id", "Intel"),
          Pair("cpu-power.sst_bf.enabled", "true"),
          Pair("cpu-pstate.scaling_governor", "performance"), Pair("cpu-pstate.status", "active"),
          Pair("cpu-pstate.turbo", "true"), Pair("cpu-security.sev.enabled", "true"),
          Pair("cpu-security.sgx.enabled", "true"), Pair("cpu-security.tdx.enabled", "true"),
          Pair("kernel-config.NO_HZ", "true"), Pair("kernel-config.PREEMPT", "true"),
          Pair("kernel-selinux.enabled", "true"), Pair("memory-numa", "true"),
          Pair("memory-nv.dax", "true"), Pair("memory-nv.present", "true"),
          Pair("memory-swap", "true"), Pair("network-sriov.capable", "true"),
          Pair("pci-15b3.present", "true"), Pair("rdma.available", "true"),
          Pair("rdma.capable", "true"), Pair("storage-nonrotationaldisk", "true"),
          Pair("usb-fe_1a6e_089a.present", "true")));
}

TEST(NodeLabels, RawFeaturesAreWhatRulesSee) {
  const nfd::Features features = NodeLabels(Rich(), {}, kNow).features;
  EXPECT_THAT(features.flags.at("kernel.loadedmodule"),
              ElementsAre("ib_uverbs", "nvidia_fs", "rdma_ucm"));
  EXPECT_THAT(features.flags.at("kernel.enabledmodule"),
              ElementsAre("ext4", "ib_uverbs", "nvidia_fs", "rdma_ucm", "x-y"));
  EXPECT_EQ(features.attributes.at("cpu.security").at("sev.asids"), "99");
  EXPECT_EQ(features.attributes.at("cpu.security").at("sgx.epc"), "98041856");
  EXPECT_EQ(features.attributes.at("system.dmiid").at("sys_vendor"), "NVIDIA");
  EXPECT_EQ(features.attributes.at("memory.numa").at("node_count"), "2");
  EXPECT_EQ(features.attributes.at("cpu.topology").at("socket_count"), "2");
  EXPECT_THAT(features.attributes.at("cpu.rdt"), ElementsAre(Pair("RDTL3CA", "true")));
  EXPECT_THAT(features.attributes.at("memory.hugepages"),
              ElementsAre(Pair("enabled", "true"), Pair("hugepages-1Gi", "0"),
                          Pair("hugepages-2Mi", "512"), Pair("hugepages-64Ki", "")));
  EXPECT_EQ(features.instances.at("pci.device").at(0).at("class"), "0207");
  EXPECT_FALSE(features.attributes.contains("kernel.config"));
  const auto other =
      NodeLabels(Rich(), {.feature_sources = {"all", "-system"}, .unpublished = {"cpu.*"}}, kNow)
          .features;
  EXPECT_EQ(other.attributes.at("kernel.config").at("HZ"), "250");
  EXPECT_FALSE(other.attributes.contains("system.dmiid"));
  EXPECT_FALSE(other.flags.contains("cpu.cpuid"));
}

// As with NFD: DoesNotExist holds of an element that is missing, and not of a missing feature.
TEST(NodeLabels, WhatCouldNotBeReadIsNoFeature) {
  const nfd::Features features = NodeLabels(Facts(), {.unpublished = {}}, kNow).features;
  EXPECT_FALSE(features.flags.contains("kernel.loadedmodule"));
  EXPECT_FALSE(features.flags.contains("kernel.enabledmodule"));
  for (const char* feature : {"system.dmiid", "system.osrelease", "kernel.version", "kernel.config",
                              "memory.numa", "memory.swap"}) {
    EXPECT_FALSE(features.attributes.contains(feature)) << feature;
  }
  Facts facts;
  facts.modules = "";
  facts.builtin = "";
  facts.kernel_config = Elements();
  const auto read = NodeLabels(facts, {.unpublished = {}}, kNow).features;
  EXPECT_TRUE(read.flags.contains("kernel.loadedmodule"));
  EXPECT_TRUE(read.flags.contains("kernel.enabledmodule"));
  EXPECT_TRUE(read.attributes.contains("kernel.config"));
}

TEST(NodeLabels, TheProcessorIsAskedWhereItCanBe) {
  Facts facts = Rich();
  facts.leaves.registers[{0, 0}].eax = 7;
  facts.leaves.registers[{1, 0}].edx = 1U << 25U;
  facts.leaves.registers[{7, 1}].edx = 1U << 19U;
  facts.leaves.registers[{0x24, 0}].ebx = 2;
  const Labelled labelled = NodeLabels(facts, {.label_sources = {"cpu"}}, kNow);
  EXPECT_THAT(labelled.features.flags.at("cpu.cpuid"), ElementsAre("AVX10", "FXSROPT", "SSE"));
  EXPECT_EQ(labelled.labels.at("feature.node.kubernetes.io/cpu-cpuid.AVX10_VERSION"), "2");
  EXPECT_EQ(labelled.labels.at("feature.node.kubernetes.io/cpu-cpuid.FXSROPT"), "true");
}

TEST(NodeLabels, AFieldThatADeviceLacksLeavesItsPlaceEmpty) {
  Facts facts;
  facts.usb_devices = {{{"class", "fe"}, {"vendor", "1a6e"}, {"device", "089a"}}};
  const auto labels = [&](const std::vector<std::string>& fields) {
    return NodeLabels(facts, {.usb_fields = fields, .label_sources = {"usb"}}, kNow).labels;
  };
  EXPECT_THAT(labels({"serial", "class"}),
              ElementsAre(Pair("feature.node.kubernetes.io/usb-fe_.present", "true")));
  EXPECT_THAT(labels({"clas"}),
              ElementsAre(Pair("feature.node.kubernetes.io/usb-fe_1a6e_089a.present", "true")));
}

// A misspelt condition would leave a label on every node.
TEST(NodeLabels, AFileWithAnUnknownKeyIsLeftOut) {
  Facts facts;
  facts.custom_files = {{"rules.yaml",
                         "- name: gpu\n  labels: {has-nvidia-gpu: \"true\"}\n  matchFeature:\n"
                         "  - {feature: pci.device}\n"},
                        {"twice.yaml", "- name: a\n  labels: {a: b}\n  labels: {c: d}\n"}};
  const Labelled labelled = NodeLabels(facts, {.label_sources = {"custom"}}, kNow);
  EXPECT_THAT(labelled.labels, IsEmpty());
  EXPECT_THAT(labelled.warnings,
              ElementsAre("custom.d/rules.yaml is left out: rule gpu.matchFeature: unknown key",
                          HasSubstr("custom.d/twice.yaml is left out: read YAML: line 3, column 3: "
                                    "the key \"labels\" occurs twice")));
}

TEST(NodeLabels, ARuleThatFailsIsNamed) {
  Facts facts;
  facts.custom_files = {{"rules.yaml",
                         "- {name: r, labelsTemplate: '{{.pci.x}}', matchFeatures: "
                         "[{feature: pci.device}]}\n"}};
  facts.pci = {Function(0x10de, 0x1eb8, 0x030200)};
  EXPECT_THAT(NodeLabels(facts, {.label_sources = {"custom"}}, kNow).warnings,
              ElementsAre("custom rule r: labelsTemplate: there is no .x"));
}

TEST(NodeLabels, TheHypervisorHasNfdsName) {
  const auto name = [](const std::string& flags, const std::string& letters) {
    Facts facts;
    facts.cpuinfo = "flags\t: fpu" + flags + "\n";
    facts.hypervisor = letters;
    return NodeLabels(facts, {}, kNow).features.attributes.at("cpu.model").at("hypervisor");
  };
  EXPECT_EQ(name("", ""), "none");
  EXPECT_EQ(name(" hypervisor", ""), "unknown");
  EXPECT_EQ(name(" hypervisor", "TCGTCGTCGTCG"), "qemu");
  EXPECT_EQ(name(" hypervisor", "Microsoft Hv"), "msvm");
  EXPECT_EQ(name(" hypervisor", "A new +-One."), "A_new_-One.");
}

TEST(NodeLabels, TheConfigurationChooses) {
  WorkerConfig config;
  ASSERT_TRUE(
      Overlay("core: {labelSources: [all, -memory, -usb], labelWhiteList: ^(pci|cpu-cpuid|site)}\n"
              "sources:\n  cpu: {cpuid: {attributeBlacklist: [AVX]}}\n"
              "  custom:\n  - name: r\n    labels: {site: here, other: x}\n    matchFeatures:\n"
              "    - {feature: cpu.cpuid, matchExpressions: {AVX512F: {op: Exists}}}\n",
              config)
          .has_value());
  const LabelMap labels = NodeLabels(Rich(), config.labels, kNow).labels;
  EXPECT_THAT(labels, Contains(Pair("feature.node.kubernetes.io/site", "here")));
  EXPECT_THAT(labels, Contains(Pair("feature.node.kubernetes.io/cpu-cpuid.SSE4", "true")));
  EXPECT_FALSE(labels.contains("feature.node.kubernetes.io/cpu-cpuid.AVX"));
  EXPECT_FALSE(labels.contains("feature.node.kubernetes.io/other"));
  EXPECT_FALSE(labels.contains("feature.node.kubernetes.io/memory-numa"));
  EXPECT_FALSE(Overlay("sources: {custom: [{name: r, matchFeatures: [{}]}]}", config).has_value());
  EXPECT_FALSE(Overlay("[]", config).has_value());
}

}  // namespace
}  // namespace gantry::node_features
