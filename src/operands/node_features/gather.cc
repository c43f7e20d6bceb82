// SPDX-License-Identifier: Apache-2.0
// What does this node consist of? Everything read here is world-readable, so that the worker needs
// no privilege.
#include "operands/node_features/gather.h"

#include <unistd.h>

#include "base/paths.h"
#include "base/text.h"
#include "host/files.h"

namespace gantry::node_features {
namespace {

constexpr long long kLargestLocalFile = 64LL * 1024;  // NFD's own limit

Result<std::string> ReadIfThere(const std::string& path) {
  Result<std::string> text = ReadFile(path);
  if (!text.has_value() && text.error().kind == ErrorKind::kNotFound) {
    return "";
  }
  return text;
}

Status ReadLocalDirectory(const std::string& directory, std::vector<LocalFile>& files) {
  TRY_ASSIGN(const auto entries, ListDirectory(directory));
  for (const std::string& name : entries) {
    const std::string path = JoinPath(directory, name);
    const Result<host::FileInfo> info = host::Inspect(path);
    if (name.starts_with('.') || !info.has_value() || info->kind != host::FileKind::kFile ||
        info->size > kLargestLocalFile) {
      continue;
    }
    // A file that went between the two looks, or that is not for us to read, asks for nothing.
    if (Result<std::string> text = ReadFile(path); text.has_value()) {
      files.push_back({name, *std::move(text)});
    }
  }
  return {};
}

}  // namespace

Result<Facts> Gather(const Sources& sources) {
  Facts facts;
  if (access(sources.sys.c_str(), R_OK) != 0) {
    return FailErrno(format("read {}", sources.sys), errno);
  }
  TRY_ASSIGN(const auto functions, host::ListPci(sources.sys));
  for (const host::PciFunction& function : functions) {
    const std::string sriov =
        format("{}/bus/pci/devices/{}/sriov_totalvfs", sources.sys, function.address);
    facts.pci.push_back({function, access(sriov.c_str(), R_OK) == 0});
  }
  TRY_ASSIGN(facts.kernel_release, ReadIfThere(sources.proc + "/sys/kernel/osrelease"));
  TRY_ASSIGN(facts.cpuinfo, ReadIfThere(sources.proc + "/cpuinfo"));
  TRY_ASSIGN(facts.os_release, ReadIfThere(sources.os_release));
  TRY(ReadLocalDirectory(sources.features_dir, facts.local_files));
  return facts;
}

}  // namespace gantry::node_features
