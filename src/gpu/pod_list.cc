// SPDX-License-Identifier: Apache-2.0
// Which pods hold which devices? As kubelet/pod_resources_v1.proto has it; fields that nobody here
// reads are skipped.
#include "gpu/pod_list.h"

#include "container/cri_call.h"
#include "container/protobuf_field.h"

namespace gantry::gpu {
namespace {

// As much as dcgm-exporter takes.
constexpr size_t kMost = size_t{16} << 20;

// Calls `take` with the number and the content of each field.
template <typename Take>
Status EachField(std::string_view message, const Take& take) {
  while (!message.empty()) {
    const auto field = container::TakeField(message);
    if (!field) {
      return Fail(ErrorKind::kInternal, "read the kubelet's list: it is broken");
    }
    TRY(take(field->number, field->content));
  }
  return {};
}

Status ReadDevices(std::string_view message, kubelet::ContainerDevices& devices) {
  return EachField(message, [&](uint64_t number, std::string_view content) -> Status {
    if (number == 1) {
      devices.resource = content;
    } else if (number == 2) {
      devices.ids.emplace_back(content);
    }
    return {};
  });
}

// v1.ClaimResource.
Status ReadClaimed(std::string_view message, kubelet::ClaimDevice& device) {
  return EachField(message, [&](uint64_t number, std::string_view content) -> Status {
    if (number == 2) {
      device.driver = content;
    } else if (number == 3) {
      device.pool = content;
    } else if (number == 4) {
      device.device = content;
    }
    return {};
  });
}

// v1.DynamicResource: a claim and its devices.
Status ReadClaim(std::string_view message, std::vector<kubelet::ClaimDevice>& claims) {
  const size_t first = claims.size();
  std::string name;
  std::string ns;
  Status read = EachField(message, [&](uint64_t number, std::string_view content) -> Status {
    if (number == 2) {
      name = content;
    } else if (number == 3) {
      ns = content;
    } else if (number == 4) {
      TRY(ReadClaimed(content, claims.emplace_back()));
    }
    return {};
  });
  for (size_t i = first; i < claims.size(); ++i) {
    claims[i].claim = name;
    claims[i].ns = ns;
  }
  return read;
}

Status ReadContainer(std::string_view message, kubelet::ContainerResources& container) {
  return EachField(message, [&](uint64_t number, std::string_view content) -> Status {
    if (number == 1) {
      container.name = content;
    } else if (number == 2) {
      TRY(ReadDevices(content, container.devices.emplace_back()));
    } else if (number == 5) {
      TRY(ReadClaim(content, container.claims));
    }
    return {};
  });
}

Status ReadPod(std::string_view message, kubelet::PodResources& pod) {
  return EachField(message, [&](uint64_t number, std::string_view content) -> Status {
    if (number == 1) {
      pod.name = content;
    } else if (number == 2) {
      pod.ns = content;
    } else if (number == 3) {
      TRY(ReadContainer(content, pod.containers.emplace_back()));
    }
    return {};
  });
}

}  // namespace

Result<std::vector<kubelet::PodResources>> ParsePodList(std::string_view message) {
  std::vector<kubelet::PodResources> pods;
  TRY(EachField(message, [&](uint64_t number, std::string_view content) -> Status {
    return number == 1 ? ReadPod(content, pods.emplace_back()) : Status();
  }));
  return pods;
}

Result<std::vector<kubelet::PodResources>> ListPods(const std::string& socket,
                                                    std::chrono::milliseconds limit) {
  TRY_ASSIGN(const std::string message,
             container::CallUnary(socket, "/v1.PodResourcesLister/List", "", limit, kMost));
  return ParsePodList(message);
}

Result<std::vector<kubelet::ContainerDevices>> ListAllocatable(const std::string& socket,
                                                               std::chrono::milliseconds limit) {
  TRY_ASSIGN(const std::string message,
             container::CallUnary(socket, "/v1.PodResourcesLister/GetAllocatableResources", "",
                                  limit, kMost));
  std::vector<kubelet::ContainerDevices> all;
  TRY(EachField(message, [&](uint64_t number, std::string_view content) -> Status {
    return number == 1 ? ReadDevices(content, all.emplace_back()) : Status();
  }));
  return all;
}

}  // namespace gantry::gpu
