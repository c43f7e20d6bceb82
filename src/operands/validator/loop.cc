// SPDX-License-Identifier: Apache-2.0
// When is each stage checked again, and what follows from its finding? Children make calls that may
// hang (probe.h); procfs and sysfs send no events, so stages set their own intervals.
#include "operands/validator/loop.h"

#include <algorithm>
#include <iterator>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "policy/names.h"

namespace gantry::validator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr milliseconds kShortestPause(20);
constexpr seconds kLongestPause(30);
constexpr seconds kNoteEvery(60);
constexpr seconds kAnnounceLimit(60);

std::string UnixTime() {
  return std::to_string(
      std::chrono::duration_cast<seconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

}  // namespace

Loop::Loop(const Site& site, Result<host::Watcher> watcher)
    : site_(site),
      watcher_(std::move(watcher)),
      checks_(site.files().Read(names::kLastChecks).value_or(host::StatusValues())) {
  if (!watcher_) {
    WarnOfLooking();
  }
}

void Loop::Add(std::unique_ptr<Stage> stage) {
  Slot& slot = slots_.emplace_back();
  slot.stage = std::move(stage);
  slot.pause = kShortestPause;
  slot.memory.file_there = FileThere(slot);
  std::vector<WatchedPath> paths = slot.stage->Paths();
  // Another program may remove a status file.
  paths.push_back(
      {JoinPath(site_.files().directory(), slot.stage->file()), host::Watcher::For::kExistence});
  for (const WatchedPath& each : paths) {
    watched_[each.path].push_back(&slot);
    Watch(each);
  }
}

void Loop::Watch(const WatchedPath& path) {
  const Status added = watcher_ ? watcher_->Add(path.path, path.interest) : Status();
  if (!added) {
    watcher_ = std::unexpected(added.error());
    WarnOfLooking();
  }
}

void Loop::WarnOfLooking() const {
  log::Warning("{}; everything is looked at every {} s instead", watcher_.error().message,
               site_.flags().sleep_seconds);
}

bool Loop::FileThere(const Slot& slot) const {
  return site_.files().Read(slot.stage->file()).has_value();
}

void Loop::LookSoon(Slot& slot, milliseconds pause) {
  const SteadyTime at = steady_clock::now() + pause;
  slot.look_at = slot.look_at ? std::min(*slot.look_at, at) : at;
}

// A failed question is retried with growing delays.
void Loop::RetryUnless(Slot& slot, bool well) {
  if (well) {
    slot.pause = kShortestPause;
    return;
  }
  LookSoon(slot, slot.pause);
  slot.pause = std::min<milliseconds>(slot.pause * 2, kLongestPause);
}

void Loop::Tell(const Slot& slot, const Finding& finding, const Step& step) const {
  using State = Finding::State;
  const bool taken_back = step.file == Step::File::kRemove;
  const std::string& name = slot.stage->name();
  if (finding.state == State::kReady && step.tell) {
    log::Info("{} ready: {}: {}", name, finding.reason, finding.message);
  } else if (finding.state == State::kNotNeeded) {
    // Most nodes need few of the modules; unrequested ones are not logged.
    if (taken_back || (step.tell && site_.flags().component == name)) {
      log::Info("{} not needed: {}", name, finding.message);
    }
  } else if (step.tell || taken_back) {
    log::Warning("{} {}{}: {}: {}{}{}", name,
                 finding.state == State::kSkipped ? "skipped" : "not ready",
                 taken_back ? ", status file taken back" : "", finding.reason, finding.message,
                 finding.remedy.empty() ? "" : "; ", finding.remedy);
  }
}

void Loop::Settle(Slot& slot, const Finding& finding) {
  const Stage& stage = *slot.stage;
  const Step step = Decide(slot.memory, finding, stage.hold(), steady_clock::now());
  if (step.look_again) {
    slot.look_at = slot.look_at ? std::min(*slot.look_at, *step.look_again) : step.look_again;
  }
  Status done;
  if (step.file == Step::File::kWrite) {
    if (const auto wrote = site_.files().Write(stage.file(), finding.values, kProgram); !wrote) {
      done = std::unexpected(wrote.error());
    }
  } else if (step.file == Step::File::kRemove) {
    if (const auto removed = site_.files().Remove(stage.file()); !removed) {
      done = std::unexpected(removed.error());
    }
  }
  if (!done) {
    // The directory was removed on the host; this container's mount still shows the removed one.
    lost_directory_ = done.error().kind == ErrorKind::kNotFound;
    log::Error("{}: {}", stage.name(), done.error().message);
    slot.memory = {};
    LookSoon(slot, seconds(1));
    return;
  }
  Tell(slot, finding, step);
  NoteCheck(slot, finding);
}

// The last successful checks of driver and plugin, for the node's metrics: once a minute.
void Loop::NoteCheck(const Slot& slot, const Finding& finding) {
  const std::string& file = slot.stage->file();
  if (finding.state != Finding::State::kReady ||
      (file != names::kDriverReady && file != names::kPluginReady)) {
    return;
  }
  const SteadyTime now = steady_clock::now();
  const bool first = !checks_.contains(file);
  checks_[file] = UnixTime();
  if (first || now - checks_at_ >= kNoteEvery) {
    checks_at_ = now;
    if (const auto wrote = site_.files().Write(names::kLastChecks, checks_, kProgram); !wrote) {
      log::Warning("{}", wrote.error().message);
    }
  }
}

void Loop::Ask(Slot& slot, const Question& question) {
  Result<Probe> probe = Probe::Start(question.argv, question.limit);
  if (probe) {
    slot.probe = *std::move(probe);
    return;
  }
  Answer failed;
  failed.text = probe.error().message;
  Hear(slot, failed);
}

void Loop::Hear(Slot& slot, const Answer& answer) {
  const std::optional<Finding> finding = slot.stage->Hear(answer);
  if (!finding) {
    slot.dirty = true;
    return;
  }
  RetryUnless(slot, finding->state != Finding::State::kNotReady &&
                        finding->state != Finding::State::kUnknown);
  if (slot.stage->again().count() > 0) {
    LookSoon(slot, slot.stage->again());
  }
  Settle(slot, *finding);
}

void Loop::LookAt(Slot& slot) {
  const bool changed = slot.dirty;
  slot.look_at.reset();
  slot.dirty = false;
  if (!watcher_) {
    slot.memory.file_there = FileThere(slot);
    LookSoon(slot, seconds(site_.flags().sleep_seconds));
  }
  const Look look = slot.stage->LookAt(changed);
  if (look.question) {
    Ask(slot, *look.question);
    return;
  }
  if (slot.stage->again().count() > 0) {
    LookSoon(slot, slot.stage->again());
  }
  if (look.finding) {
    Settle(slot, *look.finding);
  }
}

void Loop::Work() {
  const SteadyTime now = steady_clock::now();
  for (Slot& slot : slots_) {
    if (!slot.probe && (slot.dirty || (slot.look_at && *slot.look_at <= now))) {
      LookAt(slot);
    }
  }
}

void Loop::Announce() {
  if (!site_.flags().publish || announcer_) {
    return;
  }
  std::vector<std::pair<std::string, const StageMemory*>> stages;
  stages.reserve(slots_.size());
  for (const Slot& slot : slots_) {
    stages.emplace_back(slot.stage->name(), &slot.memory);
  }
  const Announcement now = DecideAnnouncement(
      announcement_, Summarize(stages, site_.flags().sandbox.empty() ? kAllWorks : kReadyForVms),
      steady_clock::now());
  announce_at_ = now.look_again;
  if (!now.say) {
    return;
  }
  std::vector<std::string> argv = Site::Probe("publish");
  argv.insert(argv.end(), {"--probe-reason", now.say->reason, "--probe-message", now.say->message});
  Result<Probe> probe = Probe::Start(argv, kAnnounceLimit);
  if (!probe) {
    log::Warning("tell the cluster: {}", probe.error().message);
    NoteAnnounced(announcement_, *now.say, false, steady_clock::now());
    announce_at_ = steady_clock::now() + announcement_.pause;
    return;
  }
  announcing_ = *now.say;
  announcer_ = *std::move(probe);
}

void Loop::TakeChanges() {
  for (const std::string& path : watcher_->Take()) {
    for (Slot* slot : watched_[path]) {
      slot->dirty = true;
      slot->pause = kShortestPause;
      if (path.ends_with(slot->stage->file())) {
        slot->memory.file_there = FileThere(*slot);
      }
    }
  }
}

bool Loop::Wait(const host::Signals& signals, int changed_fd) {
  std::vector<int> descriptors = {signals.stop_fd(), signals.reload_fd(),
                                  watcher_ ? watcher_->fd() : -1,
                                  announcer_ ? announcer_->fd() : -1, changed_fd};
  std::optional<SteadyTime> deadline =
      announcer_ ? std::optional(announcer_->deadline()) : announce_at_;
  for (const Slot& slot : slots_) {
    descriptors.push_back(slot.probe ? slot.probe->fd() : -1);
    const std::optional<SteadyTime> next = slot.probe ? slot.probe->deadline() : slot.look_at;
    if (next && (!deadline || *next < *deadline)) {
      deadline = next;
    }
  }
  const std::vector<bool> readable = host::WaitReadable(descriptors, deadline);
  if (readable[2]) {
    TakeChanges();
  }
  const SteadyTime now = steady_clock::now();
  if (announcer_ && (readable[3] || announcer_->deadline() <= now)) {
    const Answer answer = announcer_->Take();
    announcer_.reset();
    const bool told = answer.end == Answer::End::kSaid && answer.exit_code == 0;
    if (!told) {
      log::Warning("tell the cluster: {}", Trim(answer.text));
    }
    NoteAnnounced(announcement_, announcing_, told, now);
  }
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (slot.probe && (readable[i + 5] || slot.probe->deadline() <= now)) {
      const Answer answer = slot.probe->Take();
      slot.probe.reset();
      Hear(slot, answer);
    }
  }
  return readable[4];
}

int Loop::Run(host::Signals& signals, int changed_fd) {
  while (true) {
    Work();
    Announce();
    if (lost_directory_) {
      log::Error("{} was removed: ending, so that the kubelet makes it anew",
                 site_.files().directory());
      return 1;
    }
    const bool changed = Wait(signals, changed_fd);
    if (changed || signals.stop_requested()) {
      return 0;
    }
    if (signals.TakeReload()) {
      for (Slot& slot : slots_) {
        slot.dirty = true;
      }
    }
  }
}

int Loop::RunOnce(host::Signals& signals, bool wait) {
  const auto judged = [](const Slot& slot) {
    return slot.memory.last && !slot.probe && !slot.dirty;
  };
  const auto well = [](const Slot& slot) {
    const Finding::State state = slot.memory.last->state;
    return state == Finding::State::kReady || state == Finding::State::kNotNeeded;
  };
  while (true) {
    Work();
    if (std::ranges::all_of(slots_, judged)) {
      if (std::ranges::all_of(slots_, well)) {
        return 0;
      }
      if (!wait) {
        return 1;
      }
    }
    Wait(signals);
    if (signals.stop_requested()) {
      return 1;
    }
  }
}

}  // namespace gantry::validator
