// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nfd/features.h"
#include "operands/node_features/facts.h"

namespace gantry::node_features {

// `spec.features` of the node's NodeFeature under NFD's names, the input of NodeFeatureRules, with
// everything from the facts.
nfd::Features RawFeatures(const Facts& facts);

// "NAME=value" lines, values with or without quotes (os-release(5)).
Elements ParseOsRelease(const std::string& text);
// NFD's names of processor makers: from the x86 vendor string, or the Arm implementer code.
std::string CpuVendor(const std::string& text);
// The numbers of "<major>.<minor>.<revision>..." as far as they exist, if `tail` (a regular
// expression) matches the rest.
std::vector<std::string> VersionNumbers(const std::string& text, const char* tail);

}  // namespace gantry::node_features
