// SPDX-License-Identifier: Apache-2.0
// In which order does containerd read its files, and would a later one override Gantry's drop-in?
// It reads the root file, then its imports, pattern by pattern in the order of the names, then
// theirs; a file counts once.
#include "container/containerd_imports.h"

#include <fnmatch.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "base/paths.h"
#include "base/text.h"

namespace gantry::container {
namespace {

constexpr char kLastName[] = "zz-nvidia.toml";
constexpr char kOwnFolder[] = "nvidia.d/99-nvidia.toml";  // beside the folder of drop-ins

// One spelling for a path, because paths are compared and sorted.
std::string Normal(const std::string& path) {
  return std::filesystem::path(path).lexically_normal().string();
}

class Reader {
 public:
  Reader(const std::string& host_root, const ContainerdWish& wish, const std::string& drop_in)
      : host_root_(host_root), wish_(wish), drop_in_(Normal(drop_in)) {}

  Result<ImportedFiles> Read(const std::vector<std::string>& ours) {
    seen_.insert(Real(wish_.root_path));
    for (const std::string& path : ours) {
      seen_.insert(Real(path));
    }
    seen_.insert(Real(drop_in_));
    std::deque<ImportedFile> pending = {{wish_.root_path, wish_.root_text.value_or("")}};
    while (!pending.empty()) {
      const ImportedFile importing = std::move(pending.front());
      pending.pop_front();
      for (const std::string& pattern : ImportPatterns(importing.text, importing.path)) {
        TRY_ASSIGN(const auto paths, Matching(pattern));
        for (const std::string& path : paths) {
          Take(path, pending);
        }
      }
    }
    if (!found_.ours_named) {
      found_.before_ours = found_.files.size();
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::string Here(const std::string& path) const {
    return ResolveInRoot(host_root_, path).value_or(JoinPath(host_root_, path));
  }

  [[nodiscard]] std::string Real(const std::string& path) const {
    const std::string here = Here(path);
    return WithoutRoot(host_root_, here).value_or(here);
  }

  // The existing files, and Gantry's, which may not exist.
  [[nodiscard]] Result<std::vector<std::string>> Matching(const std::string& pattern) const {
    TRY_ASSIGN(std::vector<std::string> paths, GlobInRoot(host_root_, pattern));
    for (std::string& path : paths) {
      path = WithoutRoot(host_root_, path).value_or(path);
    }
    if (::fnmatch(pattern.c_str(), drop_in_.c_str(), FNM_PATHNAME) == 0 &&
        std::ranges::find(paths, drop_in_) == paths.end()) {
      paths.push_back(drop_in_);
    }
    std::ranges::sort(paths);
    return paths;
  }

  void Take(const std::string& path, std::deque<ImportedFile>& pending) {
    const std::string real = Real(path);
    if (real == Real(drop_in_)) {
      if (!found_.ours_named) {
        found_.ours_named = true;
        found_.before_ours = found_.files.size();
      }
      return;
    }
    auto text = ReadFile(Here(path));
    if (text && seen_.insert(real).second) {
      found_.files.push_back({path, *std::move(text)});
      pending.push_back(found_.files.back());
    }
  }

  const std::string& host_root_;
  const ContainerdWish& wish_;
  const std::string drop_in_;
  ImportedFiles found_;
  std::set<std::string> seen_;
};

// The last file after Gantry's that has the CRI plugin's table; nullptr: none.
const ImportedFile* Undoer(const ImportedFiles& imports) {
  for (size_t i = imports.files.size(); i > imports.before_ours; --i) {
    if (ConfiguresCri(imports.files[i - 1].text)) {
      return &imports.files[i - 1];
    }
  }
  return nullptr;
}

}  // namespace

Result<bool> IsRead(const std::string& host_root, const ContainerdWish& wish,
                    const std::string& path) {
  // A file that does not exist yet is matched by the pattern only, so also by its folder's real
  // name.
  const auto real = ResolveInRoot(host_root, path);
  for (const std::string& name :
       {path, real ? WithoutRoot(host_root, *real).value_or(path) : path}) {
    TRY_ASSIGN(const ImportedFiles found, Reader(host_root, wish, name).Read({}));
    if (found.ours_named) {
      return true;
    }
  }
  return false;
}

Result<DropInPlace> PlaceDropIn(const std::string& host_root, const ContainerdWish& wish,
                                const std::vector<std::string>& ours) {
  const std::string& wished = wish.drop_in_path;
  DropInPlace place{.path = wished, .imports = {}, .remark = {}};
  TRY_ASSIGN(place.imports, Reader(host_root, wish, wished).Read(ours));
  const ImportedFile* undoer = Undoer(place.imports);
  if (undoer == nullptr || wished.empty() || MergesTables(wish.version)) {
    return place;
  }
  constexpr std::string_view kSuffix = ".toml";
  std::string longer = undoer->path;
  if (longer.ends_with(kSuffix)) {
    longer.resize(longer.size() - kSuffix.size());
  }
  const std::vector<std::string> others = {JoinPath(ParentOf(wished), kLastName),
                                           JoinPath(ParentOf(ParentOf(wished)), kOwnFolder),
                                           longer + kLastName};
  for (const std::string& other : others) {
    TRY_ASSIGN(ImportedFiles imports, Reader(host_root, wish, other).Read(ours));
    // Without a pattern that matches it, it is read only if the root file may get one.
    if (Undoer(imports) == nullptr && (imports.ours_named || wish.edit_root)) {
      return DropInPlace{
          .path = other,
          .imports = std::move(imports),
          .remark = format("{} is read after {} and has the CRI plugin's table, which "
                           "this containerd would take alone: {} is written instead",
                           undoer->path, wished, other)};
    }
  }
  return place;  // the trial will reject it
}

std::string WhyNoCri(const ContainerdWish& wish, const ImportedFiles& imports) {
  std::vector<ImportedFile> files = imports.files;
  files.insert(files.begin(), {wish.root_path, wish.root_text.value_or("")});
  for (const ImportedFile& file : files) {
    if (const std::string plugin = DisabledCri(file.text); !plugin.empty()) {
      return format(
          "containerd's CRI plugin is off: {} has \"{}\" in disabled_plugins; take it out of that "
          "list and restart containerd",
          file.path, plugin);
    }
  }
  return "";
}

}  // namespace gantry::container
