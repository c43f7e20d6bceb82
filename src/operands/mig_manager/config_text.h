// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "nvml/mig_control.h"
#include "operands/mig_manager/config.h"

// Configurations that are made from what the driver reports. All of it pure.
namespace gantry::mig_manager {

enum class ConfigFormat { kYaml, kJson };
// "yaml" or "json"; kInvalid otherwise.
Result<ConfigFormat> ParseConfigFormat(std::string_view text);

// Ends with a newline; ParseConfig reads it.
std::string ConfigText(const Config& config, ConfigFormat format);

// One configuration of that name: how the GPUs are divided. Equal GPUs share an entry.
Config ExportConfig(std::span<const nvml::MigGpu> gpus, const std::string& name);

// all-disabled, all-enabled, all-balanced, and one for each profile: as many as fit. With GPUs of
// several kinds each entry says for which it is. kUnsupported: no GPU reports a profile.
Result<Config> GenerateConfig(std::span<const nvml::MigGpu> gpus);

}  // namespace gantry::mig_manager
