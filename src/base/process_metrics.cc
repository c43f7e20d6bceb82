// SPDX-License-Identifier: Apache-2.0
// What does this process use? From /proc/self/stat (proc(5)), whose second field is a name that may
// hold spaces and brackets: fields are counted from its last bracket on.
#include "base/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include "base/metric_text.h"
#include "base/paths.h"
#include "base/text.h"

namespace gantry {
namespace {

// Field numbers of proc(5), which counts from one.
enum StatField : size_t {
  kState = 3,
  kUserTicks = 14,
  kSystemTicks = 15,
  kStartTicks = 22,
  kVirtualBytes = 23,
  kResidentPages = 24,
};

double Number(const std::vector<std::string>& fields, StatField field) {
  const size_t index = field - kState;
  return index < fields.size() ? std::strtod(fields[index].c_str(), nullptr) : 0;
}

// Unix time of the machine's start.
double BootTime() {
  const auto stat = ReadFile("/proc/stat");
  constexpr std::string_view kWord = "\nbtime ";
  const size_t at = stat.has_value() ? stat->find(kWord) : std::string::npos;
  return at == std::string::npos ? 0 : std::strtod(stat->c_str() + at + kWord.size(), nullptr);
}

}  // namespace

std::string FormatProcessMetrics() {
  const auto stat = ReadFile("/proc/self/stat");
  const size_t name_end = stat.has_value() ? stat->rfind(')') : std::string::npos;
  if (name_end == std::string::npos) {
    return {};
  }
  const std::vector<std::string> fields = Split(Trim(stat->substr(name_end + 1)), ' ');
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  std::string text;
  const auto add = [&](std::string_view name, std::string_view type, std::string_view help,
                       double value) {
    text += MetricHeading(name, type, help) + format("{} {}\n", name, value);
  };
  add("process_cpu_seconds_total", "counter", "Processor time, user and system.",
      (Number(fields, kUserTicks) + Number(fields, kSystemTicks)) / ticks);
  add("process_resident_memory_bytes", "gauge", "Memory that is in use now.",
      Number(fields, kResidentPages) * static_cast<double>(sysconf(_SC_PAGESIZE)));
  add("process_virtual_memory_bytes", "gauge", "Address space.", Number(fields, kVirtualBytes));
  add("process_start_time_seconds", "gauge", "Unix time of the process' start.",
      BootTime() + (Number(fields, kStartTicks) / ticks));
  if (const auto open = ListDirectory("/proc/self/fd"); open.has_value()) {
    // One of them is the descriptor of the directory itself.
    add("process_open_fds", "gauge", "Open file descriptors.",
        static_cast<double>(open->size()) - 1);
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    add("process_max_fds", "gauge", "File descriptors that may be open.",
        static_cast<double>(limit.rlim_cur));
  }
  return text;
}

}  // namespace gantry
