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

// Something that a host shall have. Paths are host paths.
struct Change {
  enum class Kind { kFile, kSymlink, kDirectory };
  Kind kind = Kind::kFile;
  std::string path;
  std::string content;  // of a file; the target of a symbolic link
  mode_t mode = 0644;   // of what is made; a file that was there before keeps its own
  // Set for a file that belongs to somebody else and holds a part of ours: what it would be without
  // that part. Without it, the whole file is ours.
  std::optional<std::string> pristine;
  std::string source = {};  // a file here whose bytes are the content instead; empty: none
};

// What was changed on a host, with what was there before, so that it can all be taken back. Kept in
// a folder on the host itself and written before each change, so that a crash or power cut at any
// point leaves nothing that it does not know. Not thread-safe; one process at a time.
class Journal {
 public:
  // Reads the journal in `folder` (a host path) of the host whose root is mounted at `root`. No
  // folder is an empty journal; the folder is made by the first change.
  static Result<Journal> Open(std::string root, std::string folder);

  // Brings the host into the wanted state, in the order given; folders that are missing on the way
  // are made and recorded. Returns the host paths that were changed; nothing is written, not even
  // the journal, for what is as wanted already.
  Result<std::vector<std::string>> Apply(const std::vector<Change>& changes);

  // What a file of somebody else becomes without our part.
  using TakeOut = std::function<std::string(const std::string& host_path, const std::string& text)>;

  // Which of the paths that the journal knows, every link resolved.
  using Which = std::function<bool(const std::string& host_path)>;

  // Puts one path back, or some, with the folders that were made for them alone; or all, newest
  // first, and then the journal itself goes. What somebody else changed since is not overwritten:
  // of a file with a part of ours only that part goes (by `take_out`), a file of ours goes,
  // anything else stays. Returns the host paths that changed.
  Result<std::vector<std::string>> Undo(const std::string& host_path, const TakeOut& take_out);
  Result<std::vector<std::string>> UndoWhere(const Which& which, const TakeOut& take_out);
  Result<std::vector<std::string>> UndoAll(const TakeOut& take_out);

  // A line to oneself that outlives the process; an empty value removes it.
  [[nodiscard]] std::string Note(const std::string& name) const;
  Status SetNote(const std::string& name, const std::string& value);

  [[nodiscard]] bool empty() const { return entries_.empty() && notes_.empty(); }

  // The host path where a change lands: a file behind a link is changed where it lies, a link
  // itself is replaced.
  [[nodiscard]] Result<std::string> Resolve(const Change& change) const;

 private:
  struct Entry {
    std::string path;  // host path, every link resolved
    Change::Kind kind = Change::Kind::kFile;
    bool shared = false;
    FileInfo before;
    int before_number = 0;          // of the file that holds the content; 0: none was there
    std::string before_link;        // target of a symbolic link that was there
    std::vector<std::string> ours;  // fingerprints of every content that was put there
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
