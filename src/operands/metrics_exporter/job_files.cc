// SPDX-License-Identifier: Apache-2.0
// Which jobs of a batch system run on which GPU? Its prologue writes files, as for dcgm-exporter.
#include "operands/metrics_exporter/job_files.h"

#include <algorithm>
#include <utility>

#include "base/paths.h"
#include "base/text.h"

namespace gantry::metrics_exporter {
namespace {

// Digits and nothing else.
std::optional<unsigned> Number(std::string_view text) {
  if (text.empty() || text.size() > 6 ||
      text.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  return static_cast<unsigned>(*ParseInt(text));
}

}  // namespace

std::optional<JobPlace> JobPlaceOf(std::string_view file_name) {
  const size_t dot = file_name.find('.');
  const auto gpu = Number(file_name.substr(0, dot));
  if (!gpu || dot == std::string_view::npos) {
    return gpu ? std::optional(JobPlace(*gpu, std::nullopt)) : std::nullopt;
  }
  const auto instance = Number(file_name.substr(dot + 1));
  return instance ? std::optional(JobPlace(*gpu, *instance)) : std::nullopt;
}

std::vector<std::string> JobsIn(std::string_view text) {
  std::vector<std::string> jobs;
  for (const std::string& line : Split(text, '\n')) {
    const std::string job(Trim(line));
    if (!job.empty() && std::ranges::find(jobs, job) == jobs.end()) {
      jobs.push_back(job);
    }
  }
  return jobs;
}

Result<Jobs> ReadJobs(const std::string& folder) {
  Jobs jobs;
  TRY_ASSIGN(const std::vector<std::string> names, ListDirectory(folder));
  for (const std::string& name : names) {
    const auto place = JobPlaceOf(name);
    if (!place) {
      continue;
    }
    // A file that is gone again has no jobs.
    auto of_place = JobsIn(ReadFile(JoinPath(folder, name)).value_or(""));
    if (!of_place.empty()) {
      jobs[*place] = std::move(of_place);
    }
  }
  return jobs;
}

}  // namespace gantry::metrics_exporter
