// SPDX-License-Identifier: Apache-2.0
// When an engine's files are written, put back and removed, and when it is restarted for them: also
// when the toolkit is killed in between, or a restart fails. The engine is this process, which
// serves a socket and remembers what it "read"; tests/component has real ones.
#include "operands/container_toolkit/runtime_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/paths.h"
#include "base/testing/temp_folder.h"
#include "base/text.h"
#include "operands/container_toolkit/desired_files.h"

namespace gantry::container_toolkit {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kDropIn[] = "/etc/engine/99-nvidia.toml";
constexpr char kMain[] = "/etc/engine/main.toml";

struct Engine {
  host::ProcessId process;
  int restarts = 0;  // also those that failed
  bool refuses = false;
  bool has_theirs = false;  // an administrator wrote the runtimes
  Result<std::vector<container::CriSandbox>> sandboxes;
};

class FakeSetup final : public RuntimeSetup {
 public:
  FakeSetup(const Flags& flags, FoundRuntime found, std::vector<std::string> drop_ins,
            Engine& engine)
      : RuntimeSetup(flags, std::move(found), std::move(drop_ins)), engine_(engine) {}
  [[nodiscard]] std::vector<std::string> LowLevelRuntimes() const override { return {}; }

 private:
  using Kind = host::Change::Kind;

  Result<Wanted> Plan() override {
    Wanted wanted;
    wanted.drop_in = flags().drop_in_config;
    wanted.handlers = {"nvidia"};
    if (engine_.has_theirs) {
      return wanted;
    }
    wanted.changes = {{Kind::kFile, wanted.drop_in, "runtimes\n", 0644, std::nullopt},
                      {Kind::kFile, kMain, "theirs\nimport " + wanted.drop_in + "\n", 0644,
                       std::optional<std::string>("theirs\n")}};
    return wanted;
  }
  [[nodiscard]] std::vector<std::string> EditedFiles() const override { return {kMain}; }
  Result<std::string> TryOut(const Wanted& /*wanted*/) override { return "runtimes\n"; }
  // What the main file imports.
  Result<std::string> Effective() override {
    TRY_ASSIGN(const std::string text, ReadFile(Here(kMain)));
    const size_t import = text.find("import ");
    if (import == std::string::npos) {
      return "";
    }
    const size_t begin = import + std::strlen("import ");
    return ReadFile(Here(text.substr(begin, text.find('\n', begin) - begin))).value_or("");
  }
  [[nodiscard]] Result<host::ProcessId> Answers(const host::ProcessId& before,
                                                const std::vector<std::string>& /*handlers*/,
                                                milliseconds /*limit*/) const override {
    return before == engine_.process ? Fail(ErrorKind::kUnavailable, "it was not restarted")
                                     : Result<host::ProcessId>(engine_.process);
  }
  [[nodiscard]] Status Restart(const host::ProcessId& /*process*/) const override {
    ++engine_.restarts;
    if (engine_.refuses) {
      return Fail(ErrorKind::kNotFound, "there is no systemctl on the host");
    }
    ++engine_.process.start_time;
    return {};
  }
  [[nodiscard]] Result<std::vector<std::string>> StartsUnderWay(
      WallTime /*begin*/, milliseconds /*limit*/) const override {
    return {};
  }
  [[nodiscard]] Result<std::vector<container::CriSandbox>> Sandboxes(
      std::chrono::milliseconds /*limit*/) const override {
    return engine_.sandboxes;
  }
  [[nodiscard]] std::string UsualUnit() const override { return "engine.service"; }

  Engine& engine_;
};

class RuntimeSetupTest : public testing::Test {
 protected:
  void SetUp() override {
    flags_.host_root = root_;
    flags_.drop_in_config = kDropIn;
    flags_.socket = "/run/engine.sock";
    flags_.executable = "/bin/engine";
    Put(kMain, "theirs\n");
    fs::create_directories(root_ + "/run");
    Serve();
    engine_.process = host::Identify(::getpid()).value();
    host::Journal journal = Open();
    ASSERT_TRUE(journal.Apply({{host::Change::Kind::kFile, Program(), "x", 0755, std::nullopt}}));
  }
  void TearDown() override { ::close(socket_); }

  void Serve() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = root_ + flags_.socket;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_EQ(::listen(socket_, 64), 0);
  }
  void Put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::string Get(const std::string& path) { return ReadFile(root_ + path).value_or("(absent)"); }
  [[nodiscard]] std::string Program() const { return ToolkitDir(flags_) + "/nvidia-cdi-hook"; }
  host::Journal Open() { return host::Journal::Open(root_, kJournalFolder).value(); }

  // As a toolkit does that was just started.
  FakeSetup Starting(const host::Journal& journal) {
    std::vector<std::string> drop_ins;
    for (const char* path : {kDropIn, "/etc/engine/elsewhere.toml"}) {
      if (journal.Note("drop-in").find(path) != std::string::npos) {
        drop_ins.emplace_back(path);
      }
    }
    FoundRuntime found;
    found.engine = "containerd";
    found.socket = flags_.socket;
    found.process = engine_.process;
    return {flags_, std::move(found), std::move(drop_ins), engine_};
  }
  Result<RuntimeSetup::Outcome> Install() {
    host::Journal journal = Open();
    return Starting(journal).Install(journal);
  }
  Result<RuntimeSetup::Outcome> Remove() {
    host::Journal journal = Open();
    return Starting(journal).Remove(journal);
  }

  const TempFolder temporary_;
  const std::string root_ = temporary_.path();
  Flags flags_;
  Engine engine_;
  int socket_ = -1;
};

TEST_F(RuntimeSetupTest, ARestartForWhatChangesAndNoOther) {
  EXPECT_TRUE(Install()->restarted);
  EXPECT_FALSE(Install()->restarted);
  fs::remove(root_ + kDropIn);
  EXPECT_THAT(Install()->changed, ElementsAre(kDropIn)) << "the process has read it";
  EXPECT_EQ(engine_.restarts, 1);
  EXPECT_TRUE(Remove()->restarted);
  EXPECT_EQ(Get(kMain), "theirs\n");
  EXPECT_FALSE(fs::exists(root_ + kJournalFolder));
  EXPECT_FALSE(fs::exists(root_ + flags_.install_dir));
  EXPECT_EQ(engine_.restarts, 2);
}

TEST_F(RuntimeSetupTest, KilledBetweenItsFilesAndTheRestart) {
  // The second file can't be put in place: from outside the same as a kill after the first.
  fs::remove(root_ + kMain);
  fs::create_directories(root_ + kMain);
  EXPECT_FALSE(Install().has_value());
  EXPECT_EQ(Get(kDropIn), "runtimes\n");
  fs::remove(root_ + kMain);
  Put(kMain, std::string("theirs\nimport ") + kDropIn + "\n");
  const auto outcome = Install();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(outcome->restarted);
  EXPECT_EQ(engine_.restarts, 1);
}

TEST_F(RuntimeSetupTest, ARestartThatFailsIsNotTriedForEver) {
  engine_.refuses = true;
  const auto first = Install();
  ASSERT_FALSE(first);
  EXPECT_THAT(first.error().message, HasSubstr("no systemctl"));
  EXPECT_EQ(engine_.restarts, 1) << "the process has read nothing of Gantry's";
  EXPECT_EQ(Get(kMain), "theirs\n");
  EXPECT_EQ(Get(kDropIn), "(absent)");
  const std::string journal = Get(std::string(kJournalFolder) + "/journal.json");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Install().error().kind, ErrorKind::kInvalid);
  }
  EXPECT_EQ(engine_.restarts, 1);
  EXPECT_EQ(Get(std::string(kJournalFolder) + "/journal.json"), journal) << "nothing wakes it";
  engine_.refuses = false;
  flags_.restart_mode = "signal";
  EXPECT_TRUE(Install()->restarted) << "another mode is another attempt";
}

TEST_F(RuntimeSetupTest, KilledBeforeWhatIsRefusedWasTakenBack) {
  ASSERT_TRUE(Install());
  host::Journal journal = Open();
  // What Install notes before it takes back.
  engine_.refuses = true;
  fs::remove(root_ + kDropIn);
  ASSERT_TRUE(journal.SetNote("runtime-running", "1 1 old pending"));
  FakeSetup setup = Starting(journal);
  ASSERT_FALSE(setup.Install(journal));
  ASSERT_TRUE(journal.Apply(
      {{host::Change::Kind::kFile, kDropIn, "runtimes\n", 0644, std::nullopt},
       {host::Change::Kind::kFile, kMain, std::string("theirs\nimport ") + kDropIn + "\n", 0644,
        std::optional<std::string>("theirs\n")}}));
  EXPECT_FALSE(setup.Install(journal));
  EXPECT_EQ(Get(kMain), "theirs\n");
}

TEST_F(RuntimeSetupTest, TheProgramStaysUntilTheEngineWasRestarted) {
  ASSERT_TRUE(Install());
  engine_.refuses = true;
  EXPECT_FALSE(Remove().has_value());
  EXPECT_EQ(Get(kMain), "theirs\n") << "the engine's files come first";
  EXPECT_EQ(Get(Program()), "x");
  engine_.refuses = false;
  const auto outcome = Remove();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->restarted) << "it is still due";
  EXPECT_FALSE(fs::exists(root_ + flags_.install_dir));
  EXPECT_FALSE(fs::exists(root_ + kJournalFolder));
}

TEST_F(RuntimeSetupTest, TheProgramStaysForContainersThatItRuns) {
  ASSERT_TRUE(Install());
  engine_.sandboxes = std::vector<container::CriSandbox>{
      {.id = "a", .pod = "default/a", .ready = true, .created = {}, .handler = "nvidia"},
      {.id = "b", .pod = "default/b", .ready = true, .created = {}, .handler = ""},
      {.id = "c", .pod = "default/c", .ready = false, .created = {}, .handler = "nvidia"}};
  const auto outcome = Remove();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->restarted);
  EXPECT_EQ(outcome->kept, "containers run by it: default/a");
  EXPECT_EQ(Get(Program()), "x");
  EXPECT_EQ(Get(kDropIn), "(absent)");
  engine_.sandboxes->erase(engine_.sandboxes->begin());
  EXPECT_EQ(Remove()->kept, "");
  EXPECT_FALSE(fs::exists(root_ + flags_.install_dir));
  EXPECT_EQ(engine_.restarts, 2) << "one for each change";
}

TEST_F(RuntimeSetupTest, TheProgramStaysWhileNobodyTellsWhoRunsByIt) {
  ASSERT_TRUE(Install());
  engine_.sandboxes = Fail(ErrorKind::kTimeout, "no answer");
  EXPECT_EQ(Remove()->kept, "it is not known which containers run by it: no answer");
  EXPECT_EQ(Get(Program()), "x");
  engine_.sandboxes = {};
  EXPECT_EQ(Remove()->kept, "");
  EXPECT_EQ(Get(Program()), "(absent)");
}

TEST_F(RuntimeSetupTest, AnEngineThatWasNeverGivenAnythingIsNotAsked) {
  engine_.sandboxes = Fail(ErrorKind::kTimeout, "no answer");
  fs::remove(root_ + kMain);  // nor can its configuration be told
  EXPECT_EQ(Remove()->kept, "");
  EXPECT_EQ(Get(Program()), "(absent)");
  EXPECT_EQ(engine_.restarts, 0);
}

TEST_F(RuntimeSetupTest, AsTheDefaultRuntimeItRunsEveryContainer) {
  flags_.set_as_default = true;
  ASSERT_TRUE(Install());
  flags_.set_as_default = false;  // the cleanup is not told
  engine_.sandboxes = std::vector<container::CriSandbox>{
      {.id = "b", .pod = "default/b", .ready = true, .created = {}, .handler = ""}};
  EXPECT_EQ(Remove()->kept, "containers run by it: default/b");
  // What comes after the engine's restart runs by the engine's own.
  engine_.sandboxes->front() = {.id = "c",
                                .pod = "default/c",
                                .ready = true,
                                .created = std::chrono::system_clock::now(),
                                .handler = ""};
  EXPECT_EQ(Remove()->kept, "");
  EXPECT_EQ(Get(Program()), "(absent)");
}

TEST_F(RuntimeSetupTest, WithoutARestartTheProgramStays) {
  ASSERT_TRUE(Install());
  flags_.restart_mode = "none";
  EXPECT_THAT(Remove()->kept, HasSubstr("restart mode is none"));
  EXPECT_EQ(Get(Program()), "x");
}

TEST_F(RuntimeSetupTest, WithoutARestartTheEngineHasNotReadItsFiles) {
  flags_.restart_mode = "none";
  const auto installed = Install();
  ASSERT_TRUE(installed);
  EXPECT_EQ(Get(kDropIn), "runtimes\n");
  EXPECT_THAT(installed->pending, HasSubstr("containerd has not read its new configuration"));
  EXPECT_EQ(engine_.restarts, 0);
  EXPECT_EQ(Open().Note("runtime-serves"), "") << "no pod can get a GPU by it";
  // A toolkit that starts again knows it still.
  EXPECT_NE(Install()->pending, "");
  // Somebody restarts it.
  ++engine_.process.start_time;
  EXPECT_EQ(Install()->pending, "");
  EXPECT_THAT(Open().Note("runtime-serves"), HasSubstr("nvidia"));
  EXPECT_EQ(Install()->pending, "");
}

TEST_F(RuntimeSetupTest, AnEngineThatIsNotFoundAndLivesOn) {
  ASSERT_TRUE(Install());
  host::Journal journal = Open();
  const host::ProcessId self = host::Identify(::getpid()).value();
  ASSERT_TRUE(journal.SetNote("runtime-running", format("{} {} x", self.pid, self.start_time)));
  EXPECT_THAT(RemoveWithoutRuntime(flags_, journal)->kept, HasSubstr("still"));
  EXPECT_EQ(Get(kMain), "theirs\n");
  EXPECT_EQ(Get(Program()), "x");
  ASSERT_TRUE(journal.SetNote("runtime-running", format("{} 1 x", self.pid)));
  EXPECT_EQ(RemoveWithoutRuntime(flags_, journal)->kept, "") << "it ended";
  EXPECT_FALSE(fs::exists(root_ + flags_.install_dir));
}

TEST_F(RuntimeSetupTest, ADropInThatMoves) {
  ASSERT_TRUE(Install());
  flags_.drop_in_config = "/etc/engine/elsewhere.toml";
  const auto outcome = Install();
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->restarted) << "it says the same";
  EXPECT_EQ(Get(kDropIn), "(absent)");
  EXPECT_EQ(Get("/etc/engine/elsewhere.toml"), "runtimes\n");
  EXPECT_EQ(Open().Note("drop-in"), "/etc/engine/elsewhere.toml");
  ASSERT_TRUE(Remove());
  EXPECT_EQ(Get(kMain), "theirs\n");
  EXPECT_EQ(Get("/etc/engine/elsewhere.toml"), "(absent)");
}

TEST_F(RuntimeSetupTest, LeavingTheEngineKeepsTheProgram) {
  host::Journal journal = Open();
  EXPECT_FALSE(Starting(journal).Leave(journal)->restarted);
  EXPECT_EQ(engine_.restarts, 0);
  ASSERT_TRUE(Starting(journal).Install(journal));
  EXPECT_TRUE(IsConfigured(journal));
  EXPECT_TRUE(Starting(journal).Leave(journal)->restarted);
  EXPECT_FALSE(IsConfigured(journal));
  EXPECT_EQ(Get(kMain), "theirs\n");
  EXPECT_EQ(Get(kDropIn), "(absent)");
  EXPECT_EQ(Get(Program()), "x");
  EXPECT_THAT(Starting(journal).Leave(journal)->changed, IsEmpty());
  EXPECT_EQ(engine_.restarts, 2);
}

TEST_F(RuntimeSetupTest, LeavingTakesOursEvenWhereItWouldWriteNothingToday) {
  host::Journal journal = Open();
  ASSERT_TRUE(Starting(journal).Install(journal));
  engine_.has_theirs = true;
  EXPECT_TRUE(Starting(journal).Leave(journal)->restarted);
  EXPECT_EQ(Get(kMain), "theirs\n");
  EXPECT_EQ(Get(kDropIn), "(absent)");
}

}  // namespace
}  // namespace gantry::container_toolkit
