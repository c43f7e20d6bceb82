// SPDX-License-Identifier: Apache-2.0
// Which steps prepare a claim, so that a kill after any of them loses nothing? The checkpoint says
// that it begins, the CDI document is written, the checkpoint says that it is complete; only then
// does the kubelet hear of it. Backwards: the document is removed, then the entry.
#include "operands/dra_driver/claims.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/paths.h"
#include "base/text.h"
#include "container/cdi.h"
#include "host/files.h"
#include "operands/dra_driver/claim_plan.h"

namespace gantry::dra_driver {
namespace {

using kubelet::dra::Claim;
using kubelet::dra::PreparedDevice;

constexpr std::chrono::seconds kWait{20};
constexpr char kSuffix[] = ".yaml";

std::string Prefix() { return container::CdiFileStem(kClaimCdiKind) + "_"; }

// A UID is part of a file's name.
Status CheckUid(const std::string& uid) {
  const bool good = !uid.empty() && uid.size() <= 63 && std::ranges::all_of(uid, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
  return good ? Status{} : Fail(ErrorKind::kInvalid, "its UID has characters that no UID has");
}

std::string Name(const Claim& claim) { return format("claim {}/{}", claim.ns, claim.name); }

}  // namespace

std::string Claims::CheckpointPath() const { return JoinPath(options_.folder, "checkpoint.json"); }

std::string Claims::DocumentPath(const std::string& uid) const {
  return JoinPath(options_.cdi_root, Prefix() + uid + kSuffix);
}

Status Claims::Load() {
  auto text = ReadFile(CheckpointPath());
  if (!text.has_value() && text.error().kind != ErrorKind::kNotFound) {
    return std::unexpected(std::move(text).error());
  }
  const std::lock_guard lock(mutex_);
  if (text.has_value()) {
    TRY_ASSIGN(checkpoint_, ParseCheckpoint(*text));
    if (!checkpoint_.boot_id.empty() && checkpoint_.boot_id != options_.boot_id) {
      checkpoint_.claims.clear();
    }
  }
  checkpoint_.boot_id = options_.boot_id;
  loaded_ = true;
  return {};
}

Status Claims::Save() const {
  return host::WriteFileAtomic(CheckpointPath(), CheckpointText(checkpoint_), 0600);
}

Result<bool> Claims::WriteDocument(const std::string& uid, const ClaimEntry& entry) const {
  std::vector<std::string> names;
  names.reserve(entry.devices.size());
  for (const PreparedDevice& device : entry.devices) {
    names.push_back(device.device);
  }
  TRY_ASSIGN(const container::CdiSpec spec, ClaimCdi(uid, names, *gpus_));
  return host::WriteIfDifferent(DocumentPath(uid), container::CdiText(spec));
}

std::vector<std::string> Claims::SetGpus(std::shared_ptr<const NodeGpus> gpus) {
  std::vector<std::string> failed;
  const std::lock_guard lock(mutex_);
  gpus_ = std::move(gpus);
  for (const auto& [uid, entry] : checkpoint_.claims) {
    if (!entry.completed) {
      continue;
    }
    if (const auto written = WriteDocument(uid, entry); !written.has_value()) {
      failed.push_back(
          format("the CDI document of claim {} stays as it is: {}", uid, written.error().message));
    }
  }
  changed_.notify_all();
  return failed;
}

Result<std::vector<std::string>> Claims::Restore(const std::vector<Json>& claims) {
  std::vector<std::string> failed;
  const std::lock_guard lock(mutex_);
  checkpoint_ = {.claims = {}, .boot_id = options_.boot_id};
  for (const Json& one : claims) {
    const Claim claim{.ns = TextAt(one, "metadata.namespace"),
                      .uid = TextAt(one, "metadata.uid"),
                      .name = TextAt(one, "metadata.name")};
    if (!CheckUid(claim.uid).has_value() || ListAt(one, "status.reservedFor").empty()) {
      continue;
    }
    auto entry = PlanClaim(one, claim, options_.pool, gpus_->set, gpus_->devices, checkpoint_);
    if (!entry.has_value()) {
      if (entry.error().kind != ErrorKind::kNotFound) {
        failed.push_back(entry.error().In(Name(claim)).message);
      }
      continue;
    }
    TRY(WriteDocument(claim.uid, *entry));
    checkpoint_.claims[claim.uid] = *std::move(entry);
  }
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(RealClock().Wall().time_since_epoch());
  TRY(host::CopyFileAtomic(CheckpointPath(), format("{}.corrupt-{}", CheckpointPath(), now.count()),
                           0600));
  TRY(Save());
  loaded_ = true;
  changed_.notify_all();
  return failed;
}

void Claims::SetOwners(gpu::Owners owners) {
  const std::lock_guard lock(mutex_);
  owners_ = std::move(owners);
}

Status Claims::RemoveOrphans() {
  const std::lock_guard lock(mutex_);
  if (!loaded_) {
    return {};
  }
  TRY_ASSIGN(const auto files, ListDirectory(options_.cdi_root));
  for (const std::string& file : files) {
    if (!file.starts_with(Prefix()) || !file.ends_with(kSuffix)) {
      continue;
    }
    const std::string uid =
        file.substr(Prefix().size(), file.size() - Prefix().size() - std::size(kSuffix) + 1);
    if (!checkpoint_.claims.contains(uid)) {
      TRY(host::RemoveFile(JoinPath(options_.cdi_root, file)));
    }
  }
  return {};
}

std::vector<Claim> Claims::Known() const {
  const std::lock_guard lock(mutex_);
  std::vector<Claim> known;
  known.reserve(checkpoint_.claims.size());
  for (const auto& [uid, entry] : checkpoint_.claims) {
    known.push_back({.ns = entry.ns, .uid = uid, .name = entry.name});
  }
  return known;
}

Result<std::shared_ptr<const NodeGpus>> Claims::AwaitReady() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kWait, [this] { return loaded_ && gpus_ != nullptr; });
  if (!loaded_) {
    return Fail(ErrorKind::kUnavailable, "the driver's checkpoint is damaged; it is made anew");
  }
  if (gpus_ == nullptr) {
    return Fail(ErrorKind::kUnavailable, "the driver has not read this node's GPUs yet");
  }
  return gpus_;
}

Result<std::vector<PreparedDevice>> Claims::Prepare(const Claim& claim) {
  auto prepared = TryPrepare(claim);
  return prepared.has_value() ? std::move(prepared)
                              : std::unexpected(prepared.error().In("prepare " + Name(claim)));
}

Result<std::vector<PreparedDevice>> Claims::TryPrepare(const Claim& claim) {
  TRY(CheckUid(claim.uid));
  TRY_ASSIGN(const auto gpus, AwaitReady());
  const auto completed = [&]() -> const ClaimEntry* {
    const auto known = checkpoint_.claims.find(claim.uid);
    return known != checkpoint_.claims.end() && known->second.completed ? &known->second : nullptr;
  };
  {
    const std::lock_guard lock(mutex_);
    if (const ClaimEntry* entry = completed()) {
      // An unpreparation that was cut off has removed the document.
      TRY_ASSIGN(const host::FileInfo document, host::Inspect(DocumentPath(claim.uid)));
      if (document.kind == host::FileKind::kAbsent) {
        TRY(WriteDocument(claim.uid, *entry));
      }
      return entry->devices;
    }
  }
  TRY_ASSIGN(const Json object, options_.get(claim));
  TRY_ASSIGN(const gpu::Holders holders, options_.holders(gpus->set));
  const std::lock_guard lock(mutex_);
  if (const ClaimEntry* entry = completed()) {
    return entry->devices;
  }
  TRY_ASSIGN(const ClaimEntry entry,
             PlanClaim(object, claim, options_.pool, gpus_->set, gpus_->devices, checkpoint_));
  TRY(CheckHolders(entry, gpus_->set, gpus_->devices, holders));
  TRY(CheckOwners(entry, gpus_->set, gpus_->devices, owners_));
  ClaimEntry& kept = checkpoint_.claims[claim.uid];
  kept = entry;
  kept.completed = false;
  kept.prepared.clear();
  TRY(Save());
  TRY(WriteDocument(claim.uid, entry));
  kept = entry;
  if (Status saved = Save(); !saved.has_value()) {
    kept.completed = false;
    return std::unexpected(std::move(saved).error());
  }
  return entry.devices;
}

Status Claims::Unprepare(const Claim& claim) {
  Status done = TryUnprepare(claim);
  return done.has_value() ? done : std::unexpected(done.error().In("unprepare " + Name(claim)));
}

Status Claims::TryUnprepare(const Claim& claim) {
  TRY(CheckUid(claim.uid));
  const std::lock_guard lock(mutex_);
  if (!loaded_) {
    return Fail(ErrorKind::kUnavailable, "the driver's checkpoint is damaged; it is made anew");
  }
  TRY(host::RemoveFile(DocumentPath(claim.uid)));
  auto entry = checkpoint_.claims.extract(claim.uid);
  if (entry.empty()) {
    return {};
  }
  Status saved = Save();
  if (!saved.has_value()) {
    checkpoint_.claims.insert(std::move(entry));
  }
  return saved;
}

}  // namespace gantry::dra_driver
