// SPDX-License-Identifier: Apache-2.0
// Which CUDA toolkits does a node offer and keep? This loop writes the CDI document of those in the
// CUDA root, and removes those that the policy no longer names once no container has them mounted.
// It sleeps until a file changes, and checks once a minute while one waits for its removal.
#include "operands/cuda_toolkit/cuda_toolkit.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>

#include "base/command_line.h"
#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "container/cdi.h"
#include "elf/soname.h"
#include "host/files.h"
#include "host/signals.h"
#include "host/watch.h"
#include "operands/cuda_toolkit/copy.h"
#include "operands/cuda_toolkit/cuda_document.h"
#include "operands/cuda_toolkit/removal.h"
#include "policy/names.h"

namespace gantry::cuda_toolkit {
namespace {

namespace fs = std::filesystem;

constexpr char kProgram[] = "gantry-cuda";
constexpr std::string_view kLinkPrefix = "cuda-";
constexpr std::string_view kCopyPrefix = "versions/";

struct Arguments {
  std::string version;
  std::string cuda_root = names::kCudaRoot;
  std::string host_cuda_root;  // empty: the same
  std::string cdi_dir = names::kCdiDir;
  std::string hook_path;
  std::string proc = "/proc";
  int rest_seconds = 60;
  std::string lend;  // only copies the copying program into this folder, and ends
  std::string source_root = "/opt/gantry";
};

Result<std::optional<Arguments>> ParseArguments(int argc, const char* const* argv) {
  CLI::App app("Offers the CUDA toolkits of this node to containers.", "cuda-toolkit");
  app.set_version_flag("--version", GANTRY_VERSION);
  Arguments to;
  app.add_option("--cuda-version", to.version, "the release that containers with GPUs get: 12.4")
      ->envname("CUDA_TOOLKIT_VERSION");
  app.add_option("--cuda-root", to.cuda_root, "where the copies of CUDA are");
  app.add_option("--host-cuda-root", to.host_cuda_root, "the same folder, as the host spells it");
  app.add_option("--cdi-dir", to.cdi_dir, "");
  app.add_option("--nvidia-cdi-hook-path", to.hook_path,
                 "path on the host of the program that the CDI document names")
      ->envname("NVIDIA_CDI_HOOK_PATH");
  app.add_option("--proc", to.proc, "the host's processes");
  app.add_option("--rest-seconds", to.rest_seconds, "between looks for copies that may go");
  app.add_option("--lend", to.lend, "puts the program that copies into this folder, and ends");
  app.add_option("--source-root", to.source_root, "where that program is");
  try {
    ParseWords(app, argc, argv);
  } catch (const CLI::Success& asked) {
    app.exit(asked, std::cout, std::cerr);
    return std::optional<Arguments>();
  } catch (const CLI::Error& error) {
    return Fail(ErrorKind::kInvalid, format("read the command line: {}", error.what()));
  }
  if (to.lend.empty() && ReleaseOf(to.version).empty()) {
    return Fail(ErrorKind::kInvalid,
                format("read --cuda-version: \"{}\" is no version of CUDA", to.version));
  }
  if (to.host_cuda_root.empty()) {
    to.host_cuda_root = to.cuda_root;
  }
  return to;
}

Result<CudaRoot> ReadCudaRoot(const std::string& path) {
  CudaRoot root;
  TRY_ASSIGN(root.copies, ListDirectory(CopiesDir(path)));
  std::erase_if(root.copies, [](const std::string& name) { return name.starts_with('.'); });
  TRY_ASSIGN(const std::vector<std::string> names, ListDirectory(path));
  for (const std::string& name : names) {
    std::error_code none;
    const std::string target = fs::read_symlink(JoinPath(path, name), none).string();
    if (name.starts_with(kLinkPrefix) && target.starts_with(kCopyPrefix)) {
      root.links[name.substr(kLinkPrefix.size())] = target.substr(kCopyPrefix.size());
    }
  }
  return root;
}

// The copies that a process has mounted, or that another CDI document than `own` gives to starting
// containers: the device plugin's.
Result<std::set<std::string>> UsedCopies(const std::string& proc, const std::string& cdi_dir,
                                         const std::string& own,
                                         const std::vector<std::string>& copies) {
  std::set<std::string> used;
  TRY_ASSIGN(const std::vector<std::string> processes, ListDirectory(proc));
  for (const std::string& name : processes) {
    if (name.find_first_not_of("0123456789") == std::string::npos) {
      // A process that has ended uses nothing.
      const auto mounts = ReadFile(format("{}/{}/mountinfo", proc, name));
      used.merge(MountedCopies(mounts.value_or(""), copies));
    }
  }
  TRY_ASSIGN(const std::vector<std::string> documents, ListDirectory(cdi_dir));
  for (const std::string& name : documents) {
    if (name != own) {
      used.merge(NamedCopies(ReadFile(JoinPath(cdi_dir, name)).value_or(""), copies));
    }
  }
  return used;
}

// Names under which programs load the libraries in its folder.
OfferedCuda Describe(const std::string& release, const std::string& path,
                     const std::string& host_path) {
  OfferedCuda cuda{release, host_path, "lib64", {}};
  std::error_code none;
  if (!fs::is_directory(JoinPath(path, cuda.libraries), none)) {
    cuda.libraries = "lib";
  }
  const std::string folder = ResolveInRoot(path, cuda.libraries).value_or(path);
  for (const std::string& name : ListDirectory(folder).value_or(std::vector<std::string>{})) {
    const auto file = ResolveInRoot(path, JoinPath(cuda.libraries, name));
    if (name.find(".so.") != std::string::npos && file && elf::ReadSoname(*file) == name) {
      cuda.sonames.push_back(name);
    }
  }
  return cuda;
}

class CudaToolkit {
 public:
  explicit CudaToolkit(Arguments arguments)
      : arguments_(std::move(arguments)),
        release_(ReleaseOf(arguments_.version)),
        document_(
            JoinPath(arguments_.cdi_dir, container::CdiFileStem(names::kCudaCdiKind) + ".json")) {}

  Result<int> Run(const host::Signals& signals) {
    auto watcher = host::Watcher::Create();
    for (const std::string& path :
         {document_, arguments_.cuda_root, CopiesDir(arguments_.cuda_root)}) {
      if (const Status added = watcher ? watcher->Add(path) : Status(); !added) {
        watcher = std::unexpected(added.error());
      }
    }
    if (!watcher) {
      log::Warning("{}; it is looked at every {} s instead", watcher.error().message,
                   arguments_.rest_seconds);
    }
    while (true) {
      TRY_ASSIGN(const bool waits, Look());
      std::optional<SteadyTime> again;
      if (waits || !watcher) {
        again = std::chrono::steady_clock::now() + std::chrono::seconds(arguments_.rest_seconds);
      }
      const std::array stop = {signals.stop_fd()};
      if (watcher ? watcher->Next(signals.stop_fd(), again).stopped
                  : host::WaitReadable(stop, again)[0]) {
        return 0;
      }
    }
  }

 private:
  // True: one waits for its removal.
  Result<bool> Look() {
    TRY_ASSIGN(CudaRoot root, ReadCudaRoot(arguments_.cuda_root));
    TRY_ASSIGN(const std::set<std::string> used,
               UsedCopies(arguments_.proc, arguments_.cdi_dir, BaseName(document_), root.copies));
    const Removal removal = WhatToRemove(root, used, release_);
    for (const std::string& release : removal.releases) {
      TRY(host::RemoveFile(LinkPath(arguments_.cuda_root, release)));
      root.links.erase(release);
    }
    // With a mount of a removed copy no container with a GPU could start.
    std::erase_if(root.links, [&](const auto& link) {
      return std::ranges::find(root.copies, link.second) == root.copies.end();
    });
    TRY(WriteDocument(root));
    if (!root.links.contains(release_)) {
      return Fail(ErrorKind::kNotFound, format("offer CUDA {}: {} leads to no copy", release_,
                                               LinkPath(arguments_.cuda_root, release_)));
    }
    TRY(Remove(removal.copies));
    return removal.waits || !doomed_.empty();
  }

  Status WriteDocument(const CudaRoot& root) {
    std::vector<OfferedCuda> offered;
    for (const auto& [release, copy] : root.links) {
      const std::string path = JoinPath(CopiesDir(arguments_.cuda_root), copy);
      offered.push_back(
          Describe(release, path, JoinPath(CopiesDir(arguments_.host_cuda_root), copy)));
    }
    if (offered.empty()) {
      return host::RemoveFile(document_);  // a CDI document without devices is invalid
    }
    TRY(host::MakeDirectories(arguments_.cdi_dir));
    TRY_ASSIGN(const bool written,
               host::WriteIfDifferent(document_, container::CdiText(CudaDocument(
                                                     offered, release_, arguments_.hook_path))));
    if (written) {
      log::Info("wrote {}: CUDA {} for containers with GPUs", document_, release_);
    }
    return {};
  }

  // A container that starts now may still use the previous document: copies are removed at the next
  // check.
  Status Remove(const std::vector<std::string>& copies) {
    const auto now = std::chrono::steady_clock::now();
    std::erase_if(doomed_, [&](const auto& doomed) {
      return std::ranges::find(copies, doomed.first) == copies.end();
    });
    for (const std::string& copy : copies) {
      const auto [doomed, fresh] = doomed_.emplace(copy, now);
      if (fresh || now - doomed->second < std::chrono::seconds(arguments_.rest_seconds)) {
        continue;
      }
      std::error_code failed;
      fs::remove_all(JoinPath(CopiesDir(arguments_.cuda_root), copy), failed);
      if (failed) {
        return FailErrno("remove " + copy, failed.value());
      }
      doomed_.erase(doomed);
      log::Info("removed {}, which is unused", copy);
    }
    return {};
  }

  const Arguments arguments_;
  const std::string release_;
  const std::string document_;
  std::map<std::string, SteadyTime> doomed_;  // since when nothing names or uses them
};

Result<int> Run(const Arguments& arguments) {
  if (!arguments.lend.empty()) {
    TRY(host::CopyFileAtomic(JoinPath(arguments.source_root, kProgram),
                             JoinPath(arguments.lend, kProgram), 0755));
    return 0;
  }
  const host::Signals signals;
  return CudaToolkit(arguments).Run(signals);
}

}  // namespace

int RunCudaToolkit(int argc, char** argv) {
  auto parsed = ParseArguments(argc, argv);
  if (!parsed) {
    log::Error("{}", parsed.error().message);
    return 2;
  }
  const std::optional<Arguments> arguments = *std::move(parsed);
  if (!arguments) {
    return 0;
  }
  const auto code = Run(*arguments);
  if (!code) {
    log::Error("{}", code.error().message);
    return 1;
  }
  return *code;
}

}  // namespace gantry::cuda_toolkit
