// SPDX-License-Identifier: Apache-2.0
// How do sources become modules? They are compiled in a folder of their own, so that the sources do
// not change. The result gets its name in the cache in one step, when it is complete.
#include "operands/driver/obtain.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/files.h"
#include "host/processes.h"
#include "operands/driver/cache_key.h"
#include "operands/driver/compile_error.h"
#include "operands/driver/gather.h"

namespace gantry::driver {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::minutes kCompileLimit(30);
constexpr std::chrono::minutes kUnpackLimit(5);
constexpr std::chrono::seconds kVersionLimit(20);
constexpr size_t kMostEntries = 4;

Status Failed(const std::string& what, const std::error_code& error) {
  return error ? FailErrno(what, error.value()) : Status{};
}

// A folder for temporary files, removed with this object.
class WorkFolder {
 public:
  static Result<WorkFolder> Make() {
    std::error_code error;
    std::string path = (fs::temp_directory_path(error) / "nvidia-driver.XXXXXX").string();
    if (error || mkdtemp(path.data()) == nullptr) {
      return FailErrno("make a folder to work in", error ? error.value() : errno);
    }
    return WorkFolder(std::move(path));
  }
  explicit WorkFolder(std::string path) : path_(std::move(path)) {}
  WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  WorkFolder& operator=(WorkFolder&&) = delete;
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() {
    if (!path_.empty()) {
      std::error_code ignored;
      fs::remove_all(path_, ignored);
    }
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A fingerprint of every file below, by name and content.
Result<std::string> TreeFingerprint(const std::string& tree) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(tree, error), end; at != end; at.increment(error)) {
    if (error) {
      break;
    }
    if (at->is_regular_file(error)) {
      files.push_back(at->path().string());
    }
  }
  TRY(Failed("read " + tree, error));
  std::ranges::sort(files);
  std::string all;
  for (const std::string& file : files) {
    TRY_ASSIGN(const std::string print, host::FileFingerprint(file));
    all += format("{} {}\n", file.substr(tree.size()), print);
  }
  return host::Fingerprint(all);
}

// What distinguishes two builds of a kernel: its symbols' versions and its configuration.
std::string HeadersFingerprint(const KernelHeaders& headers) {
  std::string all;
  for (const char* file : {"Module.symvers", "include/config/auto.conf"}) {
    all += host::FileFingerprint(JoinPath(headers.build, file)).value_or("none") + "\n";
  }
  return all;
}

std::string CompilerVersion(const Flags& flags) {
  const auto compiler = host::FindInPath(flags.compiler.empty() ? "cc" : flags.compiler);
  if (!compiler) {
    return "";
  }
  const auto said =
      host::RunProgram({.words = {*compiler, "--version"}, .root = "", .limit = kVersionLimit});
  return said ? said->output.substr(0, said->output.find('\n')) : "";
}

// The cache's entries, oldest first.
std::vector<std::string> ByAge(const std::string& cache) {
  std::vector<std::pair<long long, std::string>> aged;
  for (const std::string& name : ListDirectory(cache).value_or(std::vector<std::string>())) {
    const auto info = host::Inspect(JoinPath(cache, name));
    if (info && info->kind == host::FileKind::kDirectory) {
      aged.emplace_back(info->modified_ns, name);
    }
  }
  std::ranges::sort(aged);
  std::vector<std::string> names;
  names.reserve(aged.size());
  for (auto& [age, name] : aged) {
    names.push_back(std::move(name));
  }
  return names;
}

void Sweep(const Flags& flags) {
  for (const std::string& entry :
       Outdated(ByAge(flags.cache), flags.kernel_release, kMostEntries)) {
    std::error_code ignored;
    fs::remove_all(JoinPath(flags.cache, entry), ignored);
    fs::remove(JoinPath(flags.cache, entry + ".log"), ignored);
    log::Info("removed {} from the cache", entry);
  }
}

// Adds the module files below `from` to the cache under that key.
Result<std::string> Keep(const Flags& flags, const std::string& from, const std::string& key) {
  const std::string unfinished = JoinPath(flags.cache, format("{}{}", kUnfinished, key));
  const std::string kept = JoinPath(flags.cache, key);
  std::error_code error;
  fs::remove_all(unfinished, error);
  TRY(host::MakeDirectories(unfinished));
  for (const auto& [module, file] : ModuleFiles(from)) {
    TRY(host::CopyFileAtomic(file, JoinPath(unfinished, BaseName(file))));
  }
  fs::rename(unfinished, kept, error);
  TRY(Failed("put modules into " + kept, error));
  return kept;
}

// Kernels are configured with debug information: that is most of a module, and not needed.
void StripModules(const std::string& tree) {
  const auto strip = host::FindInPath("strip");
  if (!strip) {
    return;
  }
  for (const auto& [module, file] : ModuleFiles(tree)) {
    const auto done = host::RunProgram(
        {.words = {*strip, "--strip-debug", file}, .root = "", .limit = kUnpackLimit});
    if (!done || done->exit_status != 0) {
      log::Debug("{} keeps its debugging information", file);
    }
  }
}

bool Has(const std::string& cache, const std::string& key) {
  return !ModuleFiles(JoinPath(cache, key)).empty();
}

// Runs a program that must succeed. kUnavailable: it failed, and may succeed later.
Status MustRun(std::vector<std::string> words, const std::string& what, int stop_fd) {
  TRY_ASSIGN(words.front(), host::FindInPath(words.front()));
  TRY_ASSIGN(
      const host::Finished finished,
      host::RunProgram({.words = words, .root = "", .limit = kUnpackLimit, .stop_fd = stop_fd}));
  if (finished.exit_status != 0) {
    return Fail(ErrorKind::kUnavailable,
                format("{}: {}", what, FirstError(finished.errors + finished.output, "")));
  }
  return {};
}

std::vector<std::string> MakeWords(const Flags& flags, const std::string& make,
                                   const std::string& tree, const KernelHeaders& headers) {
  const unsigned jobs =
      flags.jobs > 0 ? static_cast<unsigned>(flags.jobs) : std::thread::hardware_concurrency();
  std::vector<std::string> words = {make, "-C", tree, format("-j{}", std::max(jobs, 1U)), "modules",
                                    "SYSSRC=" + headers.source, "SYSOUT=" + headers.build,
                                    "KERNEL_UNAME=" + flags.kernel_release,
                                    // The image's compiler may differ from the kernel's in its
                                    // minor version.
                                    "IGNORE_CC_MISMATCH=1"};
  if (!flags.compiler.empty()) {
    words.push_back("CC=" + flags.compiler);
  }
  return words;
}

Result<std::string> Compile(const Flags& flags, const std::string& sources, bool open,
                            const KernelHeaders& headers, int stop_fd) {
  TRY_ASSIGN(const std::string fingerprint, TreeFingerprint(sources));
  const std::string key = CacheKey({.kernel_release = flags.kernel_release,
                                    .version = flags.version,
                                    .open = open,
                                    .sources = fingerprint,
                                    .headers = HeadersFingerprint(headers),
                                    .compiler = CompilerVersion(flags)});
  if (Has(flags.cache, key)) {
    log::Info("modules {} are in the cache", key);
    return JoinPath(flags.cache, key);
  }
  TRY_ASSIGN(const std::string make, host::FindInPath("make"));
  TRY_ASSIGN(const WorkFolder work, WorkFolder::Make());
  const std::string tree = JoinPath(work.path(), "src");
  std::error_code error;
  fs::copy(sources, tree, fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
  TRY(Failed("copy " + sources, error));
  const std::string what = format("compile driver {} ({}) for kernel {}", flags.version,
                                  KindName(open), flags.kernel_release);
  log::Info("{} from {} with the headers in {}", what, sources, headers.build);
  TRY_ASSIGN(const host::Finished finished,
             host::RunProgram({.words = MakeWords(flags, make, tree, headers),
                               .root = "",
                               .limit = kCompileLimit,
                               .stop_fd = stop_fd}));
  TRY(host::MakeDirectories(flags.cache));
  const std::string log_path = JoinPath(flags.cache, key + ".log");
  const std::string said = finished.errors + finished.output;
  if (finished.exit_status != 0) {
    const Status wrote = host::WriteFileAtomic(log_path, finished.output + finished.errors);
    return Fail(ErrorKind::kInvalid,
                format("{}: {} (the whole log: {})", what, FirstError(said, tree),
                       wrote ? log_path : wrote.error().message));
  }
  if (ModuleFiles(tree).empty()) {
    return Fail(ErrorKind::kInvalid,
                format("{}: `make modules` in {} makes no .ko file", what, sources));
  }
  StripModules(tree);
  Sweep(flags);
  return Keep(flags, tree, key);
}

Result<std::string> FromPackage(const Flags& flags, const InstallPlan& plan, int stop_fd) {
  TRY_ASSIGN(const std::string print, host::FileFingerprint(plan.from));
  const std::string key = CacheKey({.kernel_release = flags.kernel_release,
                                    .version = flags.version,
                                    .open = plan.open,
                                    .sources = print,
                                    .headers = "",
                                    .compiler = ""});
  if (Has(flags.cache, key)) {
    return JoinPath(flags.cache, key);
  }
  TRY_ASSIGN(const WorkFolder work, WorkFolder::Make());
  TRY(MustRun({"dpkg-deb", "-x", plan.from, work.path()}, "unpack " + plan.from, stop_fd));
  Sweep(flags);
  return Keep(flags, work.path(), key);
}

bool IsUrl(std::string_view text) {
  return text.starts_with("http://") || text.starts_with("https://");
}

// Returns the folder below `work` with the unpacked installer.
Result<std::string> UnpackRunfile(const std::string& from, const WorkFolder& work, int stop_fd) {
  std::string installer = from;
  if (IsUrl(installer)) {
    installer = JoinPath(work.path(), "installer.run");
    TRY(MustRun({"curl", "-fsSL", "--retry", "3", "-o", installer, from}, "download " + from,
                stop_fd));
  }
  std::string folder = JoinPath(work.path(), "unpacked");
  TRY(MustRun({"sh", installer, "--extract-only", "--target", folder}, "unpack " + from, stop_fd));
  return folder;
}

// They are put where the installer's own program puts them, in this container's root, which the
// node sees.
Status InstallLibraries(const std::string& from, const std::string& unpacked, int stop_fd) {
  return MustRun(
      {JoinPath(unpacked, "nvidia-installer"), "--silent", "--no-kernel-module",
       "--no-nouveau-check", "--no-nvidia-modprobe", "--no-rpms", "--no-backup",
       "--no-check-for-alternate-installs", "--no-libglx-indirect", "--no-install-libglvnd"},
      "install the libraries of " + from, stop_fd);
}

Result<std::string> FromRunfile(const Flags& flags, const InstallPlan& plan,
                                const KernelHeaders& headers, int stop_fd) {
  TRY_ASSIGN(const WorkFolder work, WorkFolder::Make());
  TRY_ASSIGN(const std::string folder, UnpackRunfile(plan.from, work, stop_fd));
  for (const bool open : OpenOrNot(flags.module_type, flags.version)) {
    const std::string sources = JoinPath(folder, open ? "kernel-open" : "kernel");
    if (access(sources.c_str(), F_OK) != 0) {
      continue;
    }
    TRY_ASSIGN(const std::string modules, Compile(flags, sources, open, headers, stop_fd));
    TRY(InstallLibraries(plan.from, folder, stop_fd));
    return modules;
  }
  return Fail(
      ErrorKind::kNotFound,
      format("unpack {}: it has no kernel modules of the kind that is asked for", plan.from));
}

}  // namespace

Result<std::string> ObtainModules(const Flags& flags, const InstallPlan& plan,
                                  const KernelHeaders& headers, int stop_fd) {
  switch (plan.way) {
    case Way::kPackage:
      return FromPackage(flags, plan, stop_fd);
    case Way::kCompile:
      return Compile(flags, plan.from, plan.open, headers, stop_fd);
    case Way::kRunfile:
      return FromRunfile(flags, plan, headers, stop_fd);
    case Way::kPrecompiled:
    case Way::kLoaded:
      break;
  }
  return plan.from;
}

Status ObtainLibraries(const InstallPlan& plan, int stop_fd) {
  if (plan.from.empty()) {
    return {};
  }
  TRY_ASSIGN(const WorkFolder work, WorkFolder::Make());
  TRY_ASSIGN(const std::string folder, UnpackRunfile(plan.from, work, stop_fd));
  return InstallLibraries(plan.from, folder, stop_fd);
}

}  // namespace gantry::driver
