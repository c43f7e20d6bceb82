// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

// Jobs of a batch system (Slurm) and their GPUs: a file for each GPU, whose lines are jobs.
namespace gantry::metrics_exporter {

// A GPU's index, and of MIG the id of the GPU instance.
using JobPlace = std::pair<unsigned, std::optional<unsigned>>;
using Jobs = std::map<JobPlace, std::vector<std::string>>;

// "3", "3.1"; nullopt: another file.
std::optional<JobPlace> JobPlaceOf(std::string_view file_name);
// One in each line that is not blank, each once.
std::vector<std::string> JobsIn(std::string_view text);

// All files of the folder. An error: it can't be read; an absent one has none.
Result<Jobs> ReadJobs(const std::string& folder);

}  // namespace gantry::metrics_exporter
