// SPDX-License-Identifier: Apache-2.0
// Whether a host is as before after whatever was done to it, and whatever others did meanwhile.
#include "host/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/testing/temp_folder.h"

namespace gantry::host {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kFolder[] = "/var/lib/journal-test/state";

std::string KeepAll(const std::string&, const std::string& text) { return text; }

class JournalTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(root_ + "/etc"); }

  void Put(const std::string& path, const std::string& text, mode_t mode = 0644) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
    ::chmod((root_ + path).c_str(), mode);
  }
  std::string Get(const std::string& path) { return ReadFile(root_ + path).value_or("(absent)"); }
  Journal Open() { return Journal::Open(root_, kFolder).value(); }

  // Every path with its kind, mode, content and time of change.
  std::map<std::string, std::string> Snapshot() {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      struct stat info{};
      ::lstat(entry.path().c_str(), &info);
      std::string text = std::to_string(info.st_mode);
      if (S_ISLNK(info.st_mode)) {
        text += fs::read_symlink(entry.path()).string();
      } else if (S_ISREG(info.st_mode)) {
        text += " " + std::to_string(info.st_mtim.tv_nsec) + " " +
                ReadFile(entry.path().string()).value_or("");
      }
      found[entry.path().string()] = text;
    }
    return found;
  }

  const TempFolder temporary_;
  const std::string root_ = temporary_.path();
};

Change File(const std::string& path, const std::string& text, mode_t mode = 0644) {
  return {Change::Kind::kFile, path, text, mode, std::nullopt};
}
Change Link(const std::string& path, const std::string& target) {
  return {Change::Kind::kSymlink, path, target, 0, std::nullopt};
}

TEST_F(JournalTest, SomeAreTakenBackAndTheOthersLater) {
  Put("/etc/config.toml", "theirs\n");
  const auto before = Snapshot();
  Journal journal = Open();
  ASSERT_TRUE(journal.Apply({File("/opt/tool/program", "x", 0755), File("/opt/tool/config", "c"),
                             File("/etc/config.toml", "ours\n"), File("/etc/conf.d/a", "a")}));
  const auto not_the_tool = [](const std::string& path) { return !path.starts_with("/opt/tool"); };
  EXPECT_THAT(journal.UndoWhere(not_the_tool, KeepAll).value(),
              ElementsAre("/etc/conf.d/a", "/etc/conf.d", "/etc/config.toml"));
  EXPECT_EQ(Get("/etc/config.toml"), "theirs\n");
  EXPECT_EQ(Get("/opt/tool/program"), "x");
  EXPECT_THAT(journal.UndoWhere(not_the_tool, KeepAll).value(), IsEmpty());
  ASSERT_TRUE(Open().UndoAll(KeepAll));
  EXPECT_EQ(Snapshot(), before);
}

TEST_F(JournalTest, UndoAllLeavesNoTrace) {
  Put("/etc/config.toml", "theirs\n", 0640);
  fs::create_symlink("old", root_ + "/etc/link");
  const auto before = Snapshot();
  {
    Journal journal = Open();
    EXPECT_THAT(journal
                    .Apply({File("/etc/config.toml", "ours\n"), File("/opt/a/b/tool", "x", 0755),
                            Link("/opt/a/b/alias", "tool"), Link("/etc/link", "new")})
                    .value(),
                ElementsAre("/etc/config.toml", "/opt/a/b/tool", "/opt/a/b/alias", "/etc/link"));
    EXPECT_EQ(Get("/etc/config.toml"), "ours\n");
    EXPECT_EQ(fs::read_symlink(root_ + "/opt/a/b/alias"), "tool");
  }
  EXPECT_TRUE(Open().UndoAll(KeepAll).has_value());  // another process, later
  EXPECT_EQ(Snapshot(), before);
}

TEST_F(JournalTest, WhatIsAsWantedIsNotWritten) {
  ASSERT_TRUE(Open().Apply({File("/opt/tool", "x", 0755)}).has_value());
  const auto before = Snapshot();
  EXPECT_THAT(Open().Apply({File("/opt/tool", "x", 0755)}).value(), IsEmpty());
  EXPECT_EQ(Snapshot(), before);
}

TEST_F(JournalTest, TheContentMayBeThatOfAnotherFile) {
  Put("/image/tool", std::string(200000, 'x') + "end");
  const auto before = Snapshot();
  Change tool = File("/opt/tool", "", 0755);
  tool.source = root_ + "/image/tool";
  EXPECT_THAT(Open().Apply({tool}).value(), ElementsAre("/opt/tool"));
  EXPECT_EQ(Get("/opt/tool"), Get("/image/tool"));
  EXPECT_THAT(Open().Apply({tool}).value(), IsEmpty());
  Put("/opt/tool", "edited");
  EXPECT_THAT(Open().Apply({tool}).value(), ElementsAre("/opt/tool"));
  ASSERT_TRUE(Open().UndoAll(KeepAll).has_value());
  EXPECT_EQ(Snapshot(), before);
  tool.source = root_ + "/image/absent";
  EXPECT_EQ(Open().Apply({tool}).error().kind, ErrorKind::kNotFound);
}

TEST_F(JournalTest, NothingToDoMakesNoJournal) {
  Put("/etc/same", "x");
  EXPECT_THAT(Open().Apply({File("/etc/same", "x")}).value(), IsEmpty());
  EXPECT_FALSE(fs::exists(root_ + "/var"));
}

TEST_F(JournalTest, DriftIsRepairedAndUndoIsStillToTheBeginning) {
  Put("/etc/drop-in", "theirs");
  ASSERT_TRUE(Open().Apply({File("/etc/drop-in", "ours")}).has_value());
  Put("/etc/drop-in", "edited");
  EXPECT_THAT(Open().Apply({File("/etc/drop-in", "ours 2")}).value(), ElementsAre("/etc/drop-in"));
  ASSERT_TRUE(Open().UndoAll(KeepAll).has_value());
  EXPECT_EQ(Get("/etc/drop-in"), "theirs");
}

TEST_F(JournalTest, OfAFileThatOthersEditedOnlyOurPartGoes) {
  Put("/etc/shared", "a\n");
  Change change = File("/etc/shared", "a\nours\n");
  change.pristine = "a\n";
  ASSERT_TRUE(Open().Apply({change}).has_value());
  Put("/etc/shared", "a\nours\nb\n");
  const auto without = [](const std::string&, const std::string& text) {
    return text.substr(0, 2) + text.substr(7);
  };
  EXPECT_THAT(Open().UndoAll(without).value(), ElementsAre("/etc/shared"));
  EXPECT_EQ(Get("/etc/shared"), "a\nb\n");
}

TEST_F(JournalTest, TheOwnersLaterEditIsWhatUndoRestores) {
  Put("/etc/shared", "a\n");
  Change change = File("/etc/shared", "a\nours\n");
  change.pristine = "a\n";
  ASSERT_TRUE(Open().Apply({change}).has_value());
  Put("/etc/shared", "b\n");  // written anew by its owner, our part lost
  change.content = "b\nours\n";
  change.pristine = "b\n";
  ASSERT_TRUE(Open().Apply({change}).has_value());
  ASSERT_TRUE(Open().UndoAll(KeepAll).has_value());
  EXPECT_EQ(Get("/etc/shared"), "b\n");
}

TEST_F(JournalTest, AFileOfOursGoesAlsoWhenEdited) {
  ASSERT_TRUE(Open().Apply({File("/etc/conf.d/ours", "x")}).has_value());
  Put("/etc/conf.d/ours", "edited");
  ASSERT_TRUE(Open().UndoAll(KeepAll).has_value());
  EXPECT_FALSE(fs::exists(root_ + "/etc/conf.d"));
}

TEST_F(JournalTest, FoldersWithFilesOfOthersStay) {
  ASSERT_TRUE(Open().Apply({File("/opt/new/ours", "x")}).has_value());
  Put("/opt/new/theirs", "y");
  ASSERT_TRUE(Open().UndoAll(KeepAll).has_value());
  EXPECT_FALSE(fs::exists(root_ + "/opt/new/ours"));
  EXPECT_EQ(Get("/opt/new/theirs"), "y");
}

TEST_F(JournalTest, AFileThatAnotherReplacedIsLeftToIt) {
  Put("/etc/tool", "old");
  ASSERT_TRUE(Open().Apply({File("/etc/tool", "ours")}).has_value());
  Put("/etc/tool", "newer of others");
  ASSERT_TRUE(Open().UndoAll(KeepAll).has_value());
  EXPECT_EQ(Get("/etc/tool"), "newer of others");
}

TEST_F(JournalTest, KilledBetweenJournalAndChange) {
  Put("/etc/config", "theirs");
  const auto before = Snapshot();
  // The change fails after the journal was written: the path is a folder's child that is a file.
  Put("/etc/blocked", "");
  Journal journal = Open();
  EXPECT_FALSE(
      journal.Apply({File("/etc/blocked/x", "y"), File("/etc/config", "ours")}).has_value());
  fs::remove(root_ + "/etc/blocked");
  EXPECT_EQ(Get("/etc/config"), "theirs");
  EXPECT_TRUE(fs::exists(root_ + kFolder));
  ASSERT_TRUE(Open().UndoAll(KeepAll).has_value());
  EXPECT_EQ(Snapshot(), before);
}

TEST_F(JournalTest, FileBehindALinkIsChangedWhereItLies) {
  Put("/nix/config", "theirs");
  fs::create_symlink("/nix/config", root_ + "/etc/config");
  ASSERT_TRUE(Open().Apply({File("/etc/config", "ours")}).has_value());
  EXPECT_EQ(Get("/nix/config"), "ours");
  EXPECT_TRUE(fs::is_symlink(root_ + "/etc/config"));
  ASSERT_TRUE(Open().UndoAll(KeepAll).has_value());
  EXPECT_EQ(Get("/nix/config"), "theirs");
}

TEST_F(JournalTest, UndoOfOnePath) {
  Put("/etc/a", "1");
  ASSERT_TRUE(Open().Apply({File("/etc/a", "2"), File("/etc/b", "2")}).has_value());
  EXPECT_THAT(Open().Undo("/etc/a", KeepAll).value(), ElementsAre("/etc/a"));
  EXPECT_EQ(Get("/etc/a"), "1");
  EXPECT_EQ(Get("/etc/b"), "2");
}

TEST_F(JournalTest, UndoOfOnePathTakesItsFolders) {
  ASSERT_TRUE(Open().Apply({File("/etc/x/y/a", "1"), File("/etc/x/b", "1")}).has_value());
  EXPECT_THAT(Open().Undo("/etc/x/y/a", KeepAll).value(), ElementsAre("/etc/x/y/a", "/etc/x/y"));
  EXPECT_EQ(Get("/etc/x/b"), "1");
  ASSERT_TRUE(Open().UndoAll(KeepAll).has_value());
  EXPECT_FALSE(fs::exists(root_ + "/etc/x"));
}

TEST_F(JournalTest, RestsOfAKilledWriterGo) {
  ASSERT_TRUE(Open().Apply({File("/etc/a", "1")}).has_value());
  Put("/etc/.a.new", "half");
  Put(std::string(kFolder) + "/.journal.json.new", "half");
  ASSERT_TRUE(Open().UndoAll(KeepAll).has_value());
  EXPECT_FALSE(fs::exists(root_ + "/etc/.a.new"));
  EXPECT_FALSE(fs::exists(root_ + "/var"));
}

TEST_F(JournalTest, NotesOutliveTheProcess) {
  ASSERT_TRUE(Open().SetNote("restart", "pending").has_value());
  EXPECT_EQ(Open().Note("restart"), "pending");
  ASSERT_TRUE(Open().SetNote("restart", "").has_value());
  EXPECT_EQ(Open().Note("restart"), "");
  ASSERT_TRUE(Open().UndoAll(KeepAll).has_value());
  EXPECT_FALSE(fs::exists(root_ + "/var"));
}

TEST_F(JournalTest, ALostModeIsPutRight) {
  ASSERT_TRUE(Open().Apply({File("/opt/tool", "x", 0755)}).has_value());
  ::chmod((root_ + "/opt/tool").c_str(), 0600);
  EXPECT_THAT(Open().Apply({File("/opt/tool", "x", 0755)}).value(), ElementsAre("/opt/tool"));
  struct stat info{};
  ::stat((root_ + "/opt/tool").c_str(), &info);
  EXPECT_EQ(info.st_mode & 07777, 0755U);
}

}  // namespace
}  // namespace gantry::host
