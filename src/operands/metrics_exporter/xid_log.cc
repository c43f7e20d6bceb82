// SPDX-License-Identifier: Apache-2.0
// Which XIDs does the kernel's log name? NVML tells some of them late, or not at all.
#include "operands/metrics_exporter/xid_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace gantry::metrics_exporter {
namespace {

constexpr std::string_view kMark = "NVRM: Xid (";
constexpr std::string_view kInstanceMark = " GPU-I:";
constexpr size_t kLongestRecord = 8192;  // CONSOLE_EXT_LOG_MAX
constexpr int kMostRecords = 10'000;     // of one call

bool IsAddress(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef:") == std::string_view::npos &&
         text.contains(':');
}

}  // namespace

std::optional<LoggedXid> ParseXidLine(std::string_view line) {
  const size_t mark = line.find(kMark);
  if (mark == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view rest = line.substr(mark + kMark.size());
  const size_t end = rest.find("): ");
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view where = rest.substr(0, end);
  rest.remove_prefix(end + 3);
  LoggedXid logged;
  if (const size_t instance = where.find(kInstanceMark); instance != std::string_view::npos) {
    const auto number = ParseInt(where.substr(instance + kInstanceMark.size()));
    if (!number || *number < 0 || *number > 255) {
      return std::nullopt;
    }
    logged.gpu_instance = static_cast<unsigned>(*number);
    where = where.substr(0, instance);
  }
  if (where.starts_with("PCI:")) {
    where.remove_prefix(4);
  }
  const std::string address = Lower(where);
  const auto xid = ParseInt(rest.substr(0, rest.find_first_not_of("0123456789")));
  if (!IsAddress(address) || !xid || *xid <= 0) {
    return std::nullopt;
  }
  logged.pci_bus_id = address + ".0";
  logged.xid = static_cast<uint64_t>(*xid);
  return logged;
}

Result<XidLog> XidLog::Open(const std::string& path) {
  Fd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat about{};
  if (!fd.valid() || fstat(fd.get(), &about) != 0 || lseek(fd.get(), 0, SEEK_END) < 0) {
    return Fail(ErrorKind::kUnavailable, format("open {}: {}", path, std::strerror(errno)));
  }
  return XidLog(std::move(fd), S_ISREG(about.st_mode));
}

std::vector<LoggedXid> XidLog::Read() {
  std::vector<LoggedXid> found;
  std::array<char, kLongestRecord> buffer{};
  for (int i = 0; i < kMostRecords; ++i) {
    const ssize_t got = read(fd_.get(), buffer.data(), buffer.size());
    if (got < 0 && (errno == EPIPE || errno == EINTR)) {
      continue;  // records were overwritten before they were read
    }
    if (got <= 0) {
      break;
    }
    rest_.append(buffer.data(), static_cast<size_t>(got));
    size_t end = 0;
    while ((end = rest_.find('\n')) != std::string::npos) {
      if (auto logged = ParseXidLine(std::string_view(rest_).substr(0, end))) {
        found.push_back(*std::move(logged));
      }
      rest_.erase(0, end + 1);
    }
    if (rest_.size() > kLongestRecord) {
      rest_.clear();
    }
  }
  return found;
}

}  // namespace gantry::metrics_exporter
