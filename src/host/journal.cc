// SPDX-License-Identifier: Apache-2.0
// What did Gantry change on a host, and how is it undone? It writes the earlier content, then the
// journal that names it, then the change itself, each synced; so the journal knows every change. A
// fingerprint of the content shows whether a file is still the one that Gantry wrote.
#include "host/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <utility>

#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"

namespace gantry::host {
namespace {

constexpr char kFileName[] = "journal.json";

std::string LinkTarget(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  return length <= 0 ? "" : std::string(target.data(), static_cast<size_t>(length));
}

Status MakeLink(const std::string& target, const std::string& path) {
  const std::string temporary = TemporaryPathOf(path);
  ::unlink(temporary.c_str());
  if (::symlink(target.c_str(), temporary.c_str()) != 0 ||
      ::rename(temporary.c_str(), path.c_str()) != 0) {
    return FailErrno("link " + path, errno);
  }
  return {};
}

// A fingerprint of what is at a path; empty if nothing is.
Result<std::string> Present(const std::string& path) {
  TRY_ASSIGN(const FileInfo info, Inspect(path));
  switch (info.kind) {
    case FileKind::kAbsent:
      return "";
    case FileKind::kSymlink:
      return "link " + LinkTarget(path);
    case FileKind::kDirectory:
      return "directory";
    case FileKind::kOther:
      return "other";
    case FileKind::kFile:
      break;
  }
  return FileFingerprint(path);
}

Result<std::string> Wanted(const Change& change) {
  switch (change.kind) {
    case Change::Kind::kDirectory:
      return "directory";
    case Change::Kind::kSymlink:
      return "link " + change.content;
    case Change::Kind::kFile:
      break;
  }
  return change.source.empty() ? Fingerprint(change.content) : FileFingerprint(change.source);
}

Json InfoJson(const FileInfo& info) {
  return {{"kind", static_cast<int>(info.kind)},
          {"mode", info.mode},
          {"uid", info.uid},
          {"gid", info.gid},
          {"modifiedNs", info.modified_ns}};
}

FileInfo InfoFrom(const Json& json) {
  FileInfo info;
  info.kind = static_cast<FileKind>(IntAt(json, "kind", 0));
  info.mode = static_cast<mode_t>(IntAt(json, "mode", 0));
  info.uid = static_cast<uid_t>(IntAt(json, "uid", 0));
  info.gid = static_cast<gid_t>(IntAt(json, "gid", 0));
  info.modified_ns = IntAt(json, "modifiedNs", 0);
  return info;
}

}  // namespace

Journal::Journal(std::string root, std::string folder)
    : root_(std::move(root)), folder_(std::move(folder)) {}

Result<Journal> Journal::Open(std::string root, std::string folder) {
  Journal journal(std::move(root), std::move(folder));
  TRY(journal.Load());
  return journal;
}

std::string Journal::Here(const std::string& host_path) const { return JoinPath(root_, host_path); }

std::string Journal::BeforePath(int number) const {
  return Here(JoinPath(folder_, format("before-{}", number)));
}

Status Journal::Load() {
  const auto text = ReadFile(Here(JoinPath(folder_, kFileName)));
  if (!text) {
    return text.error().kind == ErrorKind::kNotFound ? Status{} : std::unexpected(text.error());
  }
  TRY_ASSIGN(const Json json, ParseJson(*text));
  last_number_ = static_cast<int>(IntAt(json, "lastNumber", 0));
  own_folders_ = TextsAt(json, "ownFolders");
  if (const Json* notes = At(json, "notes"); notes != nullptr && notes->is_object()) {
    for (const auto& [name, value] : notes->items()) {
      notes_[name] = value.is_string() ? value.get<std::string>() : "";
    }
  }
  const Json* list = At(json, "changes");
  for (const Json& item : list != nullptr && list->is_array() ? *list : Json::array()) {
    Entry entry;
    entry.path = TextAt(item, "path");
    entry.kind = static_cast<Change::Kind>(IntAt(item, "kind", 0));
    entry.shared = BoolAt(item, "shared", false);
    entry.before = InfoFrom(item.value("before", Json::object()));
    entry.before_number = static_cast<int>(IntAt(item, "beforeNumber", 0));
    entry.before_link = TextAt(item, "beforeLink");
    entry.ours = TextsAt(item, "ours");
    entries_.push_back(std::move(entry));
  }
  return {};
}

Status Journal::Save() {
  TRY_ASSIGN(const std::vector<std::string> made, MakeDirectories(Here(folder_)));
  for (const std::string& path : made) {
    own_folders_.push_back(WithoutRoot(root_, path).value_or(path));
  }
  Json json = {{"lastNumber", last_number_}, {"ownFolders", own_folders_}, {"notes", notes_}};
  json["changes"] = Json::array();
  for (const Entry& entry : entries_) {
    json["changes"].push_back({{"path", entry.path},
                               {"kind", static_cast<int>(entry.kind)},
                               {"shared", entry.shared},
                               {"before", InfoJson(entry.before)},
                               {"beforeNumber", entry.before_number},
                               {"beforeLink", entry.before_link},
                               {"ours", entry.ours}});
  }
  return WriteFileAtomic(Here(JoinPath(folder_, kFileName)), json.dump(1) + "\n", 0600);
}

Journal::Entry* Journal::Find(const std::string& host_path) {
  const auto found = std::ranges::find(entries_, host_path, &Entry::path);
  return found == entries_.end() ? nullptr : &*found;
}

Result<std::string> Journal::Resolve(const Change& change) const {
  std::string full;
  if (change.kind == Change::Kind::kSymlink) {
    TRY_ASSIGN(const std::string parent, ResolveInRoot(root_, ParentOf(change.path)));
    full = JoinPath(parent, BaseName(change.path));
  } else {
    TRY_ASSIGN(full, ResolveInRoot(root_, change.path));
  }
  return WithoutRoot(root_, full).value_or(full);
}

Status Journal::SaveBefore(Entry& entry, std::string_view content) {
  if (entry.before_number == 0) {
    entry.before_number = ++last_number_;
  }
  TRY_ASSIGN(const std::vector<std::string> made, MakeDirectories(Here(folder_)));
  for (const std::string& path : made) {
    own_folders_.push_back(WithoutRoot(root_, path).value_or(path));
  }
  return WriteFileAtomic(BeforePath(entry.before_number), content, 0600);
}

Status Journal::RecordFolders(const std::string& host_path) {
  std::vector<std::string> missing;
  for (std::string folder = ParentOf(host_path); folder != "/"; folder = ParentOf(folder)) {
    TRY_ASSIGN(const FileInfo info, Inspect(Here(folder)));
    if (info.kind != FileKind::kAbsent) {
      break;
    }
    missing.push_back(folder);
  }
  std::ranges::reverse(missing);
  for (const std::string& folder : missing) {
    if (Find(folder) == nullptr) {
      Entry entry;
      entry.path = folder;
      entry.kind = Change::Kind::kDirectory;
      entry.ours = {"directory"};
      entries_.push_back(std::move(entry));
    }
  }
  return {};
}

Status Journal::Record(const Change& change, const std::string& host_path) {
  TRY(RecordFolders(host_path));
  Entry* entry = Find(host_path);
  if (entry == nullptr) {
    Entry fresh;
    fresh.path = host_path;
    fresh.kind = change.kind;
    fresh.shared = change.pristine.has_value();
    TRY_ASSIGN(fresh.before, Inspect(Here(host_path)));
    if (fresh.before.kind == FileKind::kFile) {
      TRY_ASSIGN(const std::string content, ReadFile(Here(host_path)));
      TRY(SaveBefore(fresh, change.pristine.value_or(content)));
    } else if (fresh.before.kind == FileKind::kSymlink) {
      fresh.before_link = LinkTarget(Here(host_path));
    }
    entries_.push_back(std::move(fresh));
    entry = &entries_.back();
  } else if (change.pristine && entry->before.kind == FileKind::kFile) {
    // Its owner may have edited it since, so compare with what it would be today without Gantry's
    // part.
    const auto recorded = ReadFile(BeforePath(entry->before_number));
    if (!recorded || *recorded != *change.pristine) {
      TRY(SaveBefore(*entry, *change.pristine));
    }
  }
  TRY_ASSIGN(const std::string wanted, Wanted(change));
  if (std::ranges::find(entry->ours, wanted) == entry->ours.end()) {
    entry->ours.push_back(wanted);
  }
  return {};
}

Result<std::vector<std::string>> Journal::Apply(const std::vector<Change>& changes) {
  struct Pending {
    const Change* change;
    std::string host_path;
  };
  std::vector<Pending> pending;
  for (const Change& change : changes) {
    TRY_ASSIGN(const std::string host_path, Resolve(change));
    TRY_ASSIGN(const std::string present, Present(Here(host_path)));
    TRY_ASSIGN(const std::string wanted, Wanted(change));
    TRY_ASSIGN(const FileInfo info, Inspect(Here(host_path)));
    const Entry* entry = Find(host_path);
    const bool made_by_us = entry != nullptr && entry->before.kind == FileKind::kAbsent;
    const bool wrong_mode = made_by_us && change.kind == Change::Kind::kFile &&
                            info.kind == FileKind::kFile && info.mode != change.mode;
    if (present != wanted || wrong_mode) {
      pending.push_back({&change, host_path});
    }
  }
  std::vector<std::string> changed;
  if (pending.empty()) {
    return changed;
  }
  for (const Pending& item : pending) {
    TRY(Record(*item.change, item.host_path));
  }
  TRY(Save());
  for (const Pending& item : pending) {
    const Change& change = *item.change;
    const std::string path = Here(item.host_path);
    TRY(MakeDirectories(change.kind == Change::Kind::kDirectory ? path : ParentOf(path)));
    if (change.kind == Change::Kind::kSymlink) {
      TRY(MakeLink(change.content, path));
    } else if (change.kind == Change::Kind::kFile) {
      TRY(change.source.empty() ? WriteFileAtomic(path, change.content, change.mode)
                                : CopyFileAtomic(change.source, path, change.mode));
      const Entry* entry = Find(item.host_path);
      if (entry->before.kind == FileKind::kAbsent && ::chmod(path.c_str(), change.mode) != 0) {
        return FailErrno("change mode of " + path, errno);
      }
    }
    changed.push_back(item.host_path);
  }
  return changed;
}

Status Journal::Restore(const Entry& entry, const std::string& path) {
  switch (entry.before.kind) {
    case FileKind::kAbsent:
      return RemoveFile(path);
    case FileKind::kSymlink:
      return MakeLink(entry.before_link, path);
    case FileKind::kDirectory:
    case FileKind::kOther:
      return {};
    case FileKind::kFile:
      break;
  }
  TRY_ASSIGN(const std::string content, ReadFile(BeforePath(entry.before_number)));
  TRY(WriteFileAtomic(path, content, entry.before.mode));
  const timespec modified = {entry.before.modified_ns / 1'000'000'000,
                             entry.before.modified_ns % 1'000'000'000};
  const std::array<timespec, 2> times = {modified, modified};
  if (::chown(path.c_str(), entry.before.uid, entry.before.gid) != 0 ||
      ::chmod(path.c_str(), entry.before.mode) != 0 ||
      ::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) != 0) {
    return FailErrno("restore owner and mode of " + path, errno);
  }
  return {};
}

// True if something was changed.
Result<bool> Journal::UndoEntry(const Entry& entry, const TakeOut& take_out) {
  const std::string path = Here(entry.path);
  TRY(RemoveFile(TemporaryPathOf(path)));  // of a writer that was killed
  TRY_ASSIGN(const std::string present, Present(path));
  if (present.empty()) {
    return false;
  }
  if (entry.kind == Change::Kind::kDirectory) {
    if (::rmdir(path.c_str()) == 0) {
      return true;
    }
    // It contains another owner's files by now.
    return errno == ENOTEMPTY || errno == EEXIST || errno == ENOENT || errno == ENOTDIR ||
                   errno == EBUSY
               ? Result<bool>(false)
               : FailErrno("remove " + path, errno);
  }
  const bool untouched = std::ranges::find(entry.ours, present) != entry.ours.end();
  if (untouched) {
    TRY(Restore(entry, path));
    return true;
  }
  if (entry.shared) {
    TRY_ASSIGN(const std::string text, ReadFile(path));
    const std::string without = take_out(entry.path, text);
    return without == text ? Result<bool>(false) : WriteIfDifferent(path, without);
  }
  if (entry.before.kind == FileKind::kAbsent && present != "directory") {
    TRY(RemoveFile(path));
    return true;
  }
  return false;
}

Result<std::vector<std::string>> Journal::Undo(const std::string& host_path,
                                               const TakeOut& take_out) {
  TRY_ASSIGN(const std::string resolved, Resolve({Change::Kind::kFile, host_path, "", 0, {}}));
  return UndoWhere([&resolved](const std::string& path) { return path == resolved; }, take_out);
}

Result<std::vector<std::string>> Journal::UndoWhere(const Which& which, const TakeOut& take_out) {
  std::vector<std::string> goes;
  for (const Entry& entry : entries_) {
    if (which(entry.path)) {
      goes.push_back(entry.path);
    }
  }
  std::vector<std::string> changed;
  if (goes.empty()) {
    return changed;
  }
  std::vector<Entry> kept;
  std::vector<int> numbers;
  // Newest first, so that inner folders are removed before outer ones.
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    const bool folder = entry->kind == Change::Kind::kDirectory;
    const bool concerned = std::ranges::any_of(goes, [&](const std::string& path) {
      return path == entry->path || (folder && path.starts_with(entry->path + "/"));
    });
    if (concerned) {
      TRY_ASSIGN(const bool done, UndoEntry(*entry, take_out));
      if (done) {
        changed.push_back(entry->path);
      }
      if (done || !folder) {
        numbers.push_back(entry->before_number);
        continue;
      }
    }
    kept.push_back(*entry);
  }
  std::ranges::reverse(kept);
  entries_ = std::move(kept);
  TRY(Save());
  for (const int number : numbers) {
    if (number != 0) {
      TRY(RemoveFile(BeforePath(number)));
    }
  }
  return changed;
}

Result<std::vector<std::string>> Journal::UndoAll(const TakeOut& take_out) {
  std::vector<std::string> changed;
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    TRY_ASSIGN(const bool done, UndoEntry(*entry, take_out));
    if (done) {
      changed.push_back(entry->path);
    }
  }
  for (const Entry& entry : entries_) {
    if (entry.before_number != 0) {
      TRY(RemoveFile(BeforePath(entry.before_number)));
    }
  }
  TRY(RemoveFile(Here(JoinPath(folder_, kFileName))));
  // The leftovers of a killed process: contents that no entry names, half a file.
  TRY_ASSIGN(const std::vector<std::string> left, ListDirectory(Here(folder_)));
  for (const std::string& name : left) {
    TRY(RemoveFile(Here(JoinPath(folder_, name))));
  }
  ::rmdir(Here(folder_).c_str());
  for (auto folder = own_folders_.rbegin(); folder != own_folders_.rend(); ++folder) {
    if (::rmdir(Here(*folder).c_str()) != 0 && errno != ENOENT && errno != ENOTEMPTY) {
      return FailErrno("remove " + *folder, errno);
    }
  }
  entries_.clear();
  notes_.clear();
  own_folders_.clear();
  return changed;
}

std::string Journal::Note(const std::string& name) const {
  const auto found = notes_.find(name);
  return found == notes_.end() ? "" : found->second;
}

Status Journal::SetNote(const std::string& name, const std::string& value) {
  if (Note(name) == value) {
    return {};
  }
  if (value.empty()) {
    notes_.erase(name);
  } else {
    notes_[name] = value;
  }
  return Save();
}

}  // namespace gantry::host
