// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "nfd/rule.h"
#include "operands/node_features/facts.h"
#include "operands/node_features/local_features.h"

namespace gantry::node_features {

// NFD's source "fake", for tests of clusters: configured labels and features for any node. Enabled
// only by name.
struct FakeSource {
  Elements labels = {{"fakefeature1", "true"}, {"fakefeature2", "true"}, {"fakefeature3", "true"}};
  std::vector<std::string> flags = {"flag_1", "flag_2", "flag_3"};
  Elements attributes = {{"attr_1", "true"}, {"attr_2", "false"}, {"attr_3", "10"}};
  std::vector<Elements> instances = {
      {{"name", "instance_1"},
       {"attr_1", "true"},
       {"attr_2", "false"},
       {"attr_3", "10"},
       {"attr_4", "foobar"}},
      {{"name", "instance_2"}, {"attr_1", "true"}, {"attr_2", "true"}, {"attr_3", "100"}},
      {{"name", "instance_3"}}};
};

// The configuration of NFD's worker; the defaults are NVIDIA's for PCI, NFD's otherwise.
struct LabelOptions {
  // Prefixes of the four-digit PCI classes whose devices are labelled.
  std::vector<std::string> pci_classes = {"02", "0200", "0207", "0300", "0302"};
  // The fields of a PCI label: any of class, vendor, device, subsystem_vendor, subsystem_device.
  std::vector<std::string> pci_fields = {"vendor"};
  std::vector<std::string> usb_classes = {"0e", "ef", "fe", "ff"};
  std::vector<std::string> usb_fields = {"class", "vendor", "device"};  // and serial
  std::vector<std::string> kernel_options = {"NO_HZ", "NO_HZ_IDLE", "NO_HZ_FULL", "PREEMPT"};
  std::vector<std::string> cpuid_deny = {
      "AVX10", "BMI1", "BMI2",   "CLMUL", "CMOV",   "CX16",   "ERMS",   "F16C",     "HTT",
      "LZCNT", "MMX",  "MMXEXT", "NX",    "POPCNT", "RDRAND", "RDSEED", "RDTSCP",   "SGX",
      "SGXLC", "SSE",  "SSE2",   "SSE3",  "SSE4",   "SSE42",  "SSSE3",  "TDX_GUEST"};
  std::vector<std::string> cpuid_allow = {};  // if not empty, only these
  std::vector<nfd::Rule> rules = {};          // of the source "custom"
  FakeSource fake = {};
  // Sources by name: "all" (but "fake"), "pci", "-usb".
  std::vector<std::string> label_sources = {"all"};
  std::vector<std::string> feature_sources = {"all"};
  // Features that are not published, "kernel.config" or "cpu.*". NFD publishes the kernel's entire
  // configuration, several times the size of all else; here it requires another list.
  std::vector<std::string> unpublished = {"kernel.config"};
  // What the part of a label's key after its prefix must match; null: anything.
  std::shared_ptr<const re2::RE2> white_list = {};
};

struct Labelled {
  LabelMap labels;  // keys with prefix, keys and values valid for Kubernetes
  nfd::Features features;
  std::optional<WallTime> next_expiry;
  std::vector<std::string> warnings;
};

// The node labels of node feature discovery, and the features for NodeFeatureRules.
Labelled NodeLabels(const Facts& facts, const LabelOptions& options, WallTime now);

}  // namespace gantry::node_features
