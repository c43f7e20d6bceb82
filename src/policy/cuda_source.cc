// SPDX-License-Identifier: Apache-2.0

// Which CUDA do the nodes get, and from which source? The version is CUDA's own ("12.4", "12.4.1")
// or the tag of an image that begins with it ("12.4.1-devel-ubuntu22.04").

#include "policy/cuda_source.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace gantry::policy {
namespace {

std::unexpected<Error> Wrong(std::string_view field, std::string_view why) {
  return Fail(ErrorKind::kInvalid, format("spec.cuda{}: {}", field, why));
}

struct Release {
  int major;
  int minor;
  int last;  // its last patch
};

// Releases whose last patch has NVIDIA's images (gitlab.com/nvidia/container-images/cuda,
// doc/supported-tags.md).
constexpr std::array kReleases = std::to_array<Release>({
    {11, 4, 3},
    {11, 5, 2},
    {11, 6, 2},
    {11, 7, 1},
    {11, 8, 0},
    {12, 0, 1},
    {12, 1, 1},
    {12, 2, 2},
    {12, 3, 2},
    {12, 4, 1},
    {12, 5, 1},
    {12, 6, 3},
    {12, 8, 1},
    {12, 9, 1},
    {13, 0, 1},
});

// The common base system of the images with the compiler, by release.
std::string_view SystemOf(int major, int minor) {
  if (major > 12) {
    return "ubuntu24.04";
  }
  return major == 12 || minor >= 7 ? "ubuntu22.04" : "ubuntu20.04";
}

// "12.4.1" -> 12, 4, 1; empty unless it is two or three numbers with dots between.
std::vector<int> Numbers(std::string_view version) {
  std::vector<int> numbers;
  for (const std::string& part : Split(version, '.')) {
    const auto number = ParseInt(part);
    const bool plain = std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
    if (!number || !plain || part.size() > 4) {
      return {};
    }
    numbers.push_back(static_cast<int>(*number));
  }
  return numbers.size() == 2 || numbers.size() == 3 ? numbers : std::vector<int>{};
}

Result<std::string> TagOf(const std::string& version, const std::vector<int>& numbers) {
  if (version.find('-') != std::string::npos) {
    return version;
  }
  int patch = numbers.size() == 3 ? numbers[2] : -1;
  if (patch < 0) {
    const auto* const release = std::ranges::find_if(kReleases, [&](const Release& known) {
      return known.major == numbers[0] && known.minor == numbers[1];
    });
    if (release == kReleases.end()) {
      return Wrong(".version",
                   format("the last patch of {} is not known: write the version in full, as {}.0, "
                          "or name an image or a volume",
                          version, version));
    }
    patch = release->last;
  }
  return format("{}.{}.{}-devel-{}", numbers[0], numbers[1], patch,
                SystemOf(numbers[0], numbers[1]));
}

Result<Json> VolumeOf(const CudaSpec& spec) {
  if (!spec.image.empty() || !spec.repository.empty()) {
    return Wrong(".volume", "CUDA comes from an image or from a volume: name one of them");
  }
  const std::string path = TextAt(spec.volume, "hostPath.path");
  const std::string claim = TextAt(spec.volume, "persistentVolumeClaim.claimName");
  if (path.empty() == claim.empty()) {
    return Wrong(".volume", "hostPath.path or persistentVolumeClaim.claimName is needed");
  }
  if (!path.empty() && !path.starts_with('/')) {
    return Wrong(".volume.hostPath.path", format("\"{}\" does not begin with /", path));
  }
  return path.empty() ? Json{{"persistentVolumeClaim", {{"claimName", claim}, {"readOnly", true}}}}
                      : Json{{"hostPath", {{"path", path}, {"type", "Directory"}}}};
}

}  // namespace

Result<CudaSource> ChooseCudaSource(const CudaSpec& spec, std::string_view ours) {
  if (spec.version.empty()) {
    return Wrong(".version", "which CUDA the nodes get is not said, for example 12.4");
  }
  CudaSource source;
  source.version = spec.version.substr(0, spec.version.find('-'));
  const std::vector<int> numbers = Numbers(source.version);
  if (numbers.empty()) {
    return Wrong(".version", format("\"{}\" does not begin with a version of CUDA, as 12.4 or "
                                    "12.4.1-devel-ubuntu22.04 do",
                                    spec.version));
  }
  if (!spec.volume.is_null()) {
    TRY_ASSIGN(source.volume, VolumeOf(spec));
  } else if (!spec.repository.empty()) {
    if (spec.image.empty()) {
      return Wrong(".image", "is needed with repository");
    }
    source.image = format("{}/{}:{}", spec.repository, spec.image, spec.version);
  } else if (!spec.image.empty()) {
    source.image = spec.image;
  } else if (ours.empty()) {
    return Wrong(".image", "no image is set and the operator has no default; a volume works too");
  } else {
    TRY_ASSIGN(const std::string tag, TagOf(spec.version, numbers));
    source.image = format("{}:{}", ours, tag);
  }
  return source;
}

}  // namespace gantry::policy
