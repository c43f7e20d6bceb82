// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "host/files.h"

namespace gantry::host {

// A file, link or folder that a host must have. Paths are host paths.
struct Change {
  enum class Kind { kFile, kSymlink, kDirectory };
  Kind kind = Kind::kFile;
  std::string path;
  std::string content;  // of a file; the target of a symbolic link
  mode_t mode = 0644;   // of new files; an existing file keeps its own
  // Set for another owner's file that has a part written by Gantry: its content without that part.
  // Not set: the entire file is Gantry's.
  std::optional<std::string> pristine;
  std::string source = {};  // a file here whose bytes are the content instead; empty: none
};

// The changes made to a host, with the earlier contents, so that all can be undone. Kept in a
// folder on the host itself and written before each change, so that it knows every change after a
// crash or power cut. Not thread-safe; one process at a time.
class Journal {
 public:
  // Reads the journal in `folder` (a host path) of the host whose root is mounted at `root`.
  // Without a folder the journal is empty; the first change makes the folder.
  static Result<Journal> Open(std::string root, std::string folder);

  // Brings the host into the wanted state, in the order given; missing parent folders are made and
  // recorded. Returns the host paths that were changed. Writes nothing, not even the journal, for
  // what is already as wanted.
  Result<std::vector<std::string>> Apply(const std::vector<Change>& changes);

  // The content of another owner's file without Gantry's part.
  using TakeOut = std::function<std::string(const std::string& host_path, const std::string& text)>;

  // Selects paths of the journal, every link resolved.
  using Which = std::function<bool(const std::string& host_path)>;

  // Restores one path, or some, and removes the folders made only for them; or all, newest first,
  // and then removes the journal itself. Later changes by others are kept: in another owner's file
  // only Gantry's part is removed (by `take_out`), a file of Gantry's is removed, anything else is
  // left. Returns the host paths that changed.
  Result<std::vector<std::string>> Undo(const std::string& host_path, const TakeOut& take_out);
  Result<std::vector<std::string>> UndoWhere(const Which& which, const TakeOut& take_out);
  Result<std::vector<std::string>> UndoAll(const TakeOut& take_out);

  // A note for Gantry itself that outlives the process; an empty value removes it.
  [[nodiscard]] std::string Note(const std::string& name) const;
  Status SetNote(const std::string& name, const std::string& value);

  [[nodiscard]] bool empty() const { return entries_.empty() && notes_.empty(); }

  // The host path where a change lands: a file behind a link is changed in its real place, a link
  // itself is replaced.
  [[nodiscard]] Result<std::string> Resolve(const Change& change) const;

 private:
  struct Entry {
    std::string path;  // host path, every link resolved
    Change::Kind kind = Change::Kind::kFile;
    bool shared = false;
    FileInfo before;
    int before_number = 0;          // of the file with the earlier content; 0: none
    std::string before_link;        // target of a symbolic link that was there
    std::vector<std::string> ours;  // fingerprints of every content that Gantry wrote
  };

  Journal(std::string root, std::string folder);
  Status Load();
  Status Save();
  [[nodiscard]] std::string Here(const std::string& host_path) const;
  [[nodiscard]] std::string BeforePath(int number) const;
  Entry* Find(const std::string& host_path);
  Status Record(const Change& change, const std::string& host_path);
  Status RecordFolders(const std::string& host_path);
  Status SaveBefore(Entry& entry, std::string_view content);
  Result<bool> UndoEntry(const Entry& entry, const TakeOut& take_out);
  Status Restore(const Entry& entry, const std::string& path);

  std::string root_;
  std::string folder_;
  std::vector<Entry> entries_;
  std::map<std::string, std::string> notes_;
  std::vector<std::string> own_folders_;  // made for the journal itself, outermost first
  int last_number_ = 0;
};

}  // namespace gantry::host
