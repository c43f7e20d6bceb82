// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nfd/features.h"
#include "operands/node_features/facts.h"

namespace gantry::node_features {

// `spec.features` of the node's NodeFeature under NFD's names, on which NodeFeatureRules are
// evaluated: everything that the facts tell.
nfd::Features RawFeatures(const Facts& facts);

// "NAME=value" lines, values with or without quotes (os-release(5)).
Elements ParseOsRelease(const std::string& text);
// What NFD calls the makers of processors: of the x86 vendor string, or the Arm implementer code.
std::string CpuVendor(const std::string& text);
// The numbers of "<major>.<minor>.<revision>..." as far as there are any, if `tail` (a regular
// expression) matches the rest.
std::vector<std::string> VersionNumbers(const std::string& text, const char* tail);

}  // namespace gantry::node_features
