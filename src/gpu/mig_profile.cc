// SPDX-License-Identifier: Apache-2.0
// Which of a GPU's profiles does the name of one mean? Names are computed from what the driver
// reports (nvml/mig_profile.h); a name that people write may be another driver's.
#include "gpu/mig_profile.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

#include "base/text.h"

namespace gantry::gpu {
namespace {

// Takes "<number><unit>" off the front of `text`.
std::optional<unsigned> TakeNumber(std::string_view& text, std::string_view unit) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = ParseInt(text.substr(0, digits));
  if (!number.has_value() || *number <= 0 || *number > 10'000 ||
      !text.substr(digits).starts_with(unit)) {
    return std::nullopt;
  }
  text.remove_prefix(digits + unit.size());
  return static_cast<unsigned>(*number);
}

bool IsAttribute(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::ranges::all_of(text,
                             [](unsigned char c) { return std::isalnum(c) != 0 || c == '.'; });
}

// "+gfx,me" of "+me,gfx"; nullopt: not attributes.
std::optional<std::string> Suffix(std::string_view text) {
  if (text.empty()) {
    return "";
  }
  const char sign = text.front();
  std::vector<std::string> attributes = Split(text.substr(1), ',');
  if ((sign != '+' && sign != '-') || attributes.empty() || text.ends_with(',') ||
      (sign == '-' && attributes.size() > 1) || !std::ranges::all_of(attributes, IsAttribute)) {
    return std::nullopt;
  }
  std::ranges::sort(attributes);
  return sign + Join(attributes, ",");
}

bool IsNear(unsigned wanted, unsigned is) {
  const unsigned difference = std::max(wanted, is) - std::min(wanted, is);
  return difference * 20 <= wanted;
}

// Those of as many slices, or of the same size; all if there is none such.
std::string Near(const MigProfile& wanted, std::span<const nvml::GpuInstanceProfile> of_gpu) {
  std::vector<std::string> near;
  std::vector<std::string> all;
  for (const nvml::GpuInstanceProfile& one : of_gpu) {
    all.push_back(one.name);
    const auto parsed = ParseMigProfile(one.name);
    if (one.slices == wanted.slices ||
        (parsed.has_value() && parsed->gigabytes == wanted.gigabytes)) {
      near.push_back(one.name);
    }
  }
  return Join(near.empty() ? all : near, ", ");
}

}  // namespace

Result<MigProfile> ParseMigProfile(std::string_view name) {
  std::string_view rest = name;
  const auto compute = TakeNumber(rest, "c.");
  const auto slices = TakeNumber(rest, "g.");
  const auto gigabytes = slices.has_value() ? TakeNumber(rest, "gb") : std::nullopt;
  const auto suffix = gigabytes.has_value() ? Suffix(rest) : std::nullopt;
  if (!slices.has_value() || !gigabytes.has_value() || !suffix.has_value()) {
    return Fail(
        ErrorKind::kInvalid,
        format("MIG profile \"{}\": not of the form 1g.10gb, 1c.3g.40gb, 1g.10gb+me", name));
  }
  const MigProfile profile{.compute = compute.value_or(*slices),
                           .slices = *slices,
                           .gigabytes = *gigabytes,
                           .suffix = *suffix};
  if (profile.compute > profile.slices) {
    return Fail(ErrorKind::kInvalid,
                format("MIG profile \"{}\": a compute instance of {} slices does not fit into a "
                       "GPU instance of {}",
                       name, profile.compute, profile.slices));
  }
  return profile;
}

std::string MigProfileText(const MigProfile& profile) {
  return format("{}{}g.{}gb{}",
                profile.compute == profile.slices ? "" : format("{}c.", profile.compute),
                profile.slices, profile.gigabytes, profile.suffix);
}

Result<const nvml::GpuInstanceProfile*> FindMigProfile(
    const MigProfile& wanted, std::span<const nvml::GpuInstanceProfile> of_gpu) {
  const nvml::GpuInstanceProfile* best = nullptr;
  unsigned least = 0;
  for (const nvml::GpuInstanceProfile& one : of_gpu) {
    const auto parsed = ParseMigProfile(one.name);
    if (!parsed.has_value() || parsed->slices != wanted.slices || parsed->suffix != wanted.suffix ||
        !IsNear(wanted.gigabytes, parsed->gigabytes)) {
      continue;
    }
    const unsigned difference = std::max(wanted.gigabytes, parsed->gigabytes) -
                                std::min(wanted.gigabytes, parsed->gigabytes);
    if (best == nullptr || difference < least) {
      best = &one;
      least = difference;
    }
  }
  if (best == nullptr) {
    return Fail(ErrorKind::kInvalid,
                format("MIG profile \"{}\": this GPU has none such; near are {}",
                       MigProfileText(wanted), Near(wanted, of_gpu)));
  }
  return best;
}

}  // namespace gantry::gpu
