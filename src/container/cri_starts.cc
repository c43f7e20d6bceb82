// SPDX-License-Identifier: Apache-2.0
// Which containers is the engine starting now? From CRI's lists, read without a protobuf library.
#include "container/cri_starts.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"
#include "container/protobuf_field.h"

namespace gantry::container {
namespace {

// Values of the enumerations PodSandboxState and ContainerState; 0 is not written.
constexpr uint64_t kNotReady = 1;
constexpr uint64_t kCreated = 0;

WallTime FromNanoseconds(uint64_t count) {
  const std::chrono::nanoseconds since_epoch(static_cast<int64_t>(count));
  return WallTime(std::chrono::duration_cast<WallTime::duration>(since_epoch));
}

// PodSandboxMetadata: name 1, namespace 3.
std::string PodOf(std::string_view metadata) {
  std::string_view name;
  std::string_view ns;
  while (const auto field = TakeField(metadata)) {
    if (field->number == 1) {
      name = field->content;
    } else if (field->number == 3) {
      ns = field->content;
    }
  }
  return format("{}/{}", ns, name);
}

// ContainerMetadata: name 1.
std::string NameOf(std::string_view metadata) {
  std::string_view name;
  while (const auto field = TakeField(metadata)) {
    if (field->number == 1) {
      name = field->content;
    }
  }
  return std::string(name);
}

CriSandbox SandboxOf(std::string_view message) {
  CriSandbox sandbox{.id = {}, .pod = {}, .ready = true, .created = {}, .handler = {}};
  while (const auto field = TakeField(message)) {
    switch (field->number) {
      case 1:
        sandbox.id = field->content;
        break;
      case 2:
        sandbox.pod = PodOf(field->content);
        break;
      case 3:
        sandbox.ready = field->value < kNotReady;
        break;
      case 4:
        sandbox.created = FromNanoseconds(field->value);
        break;
      case 7:
        sandbox.handler = field->content;
        break;
      default:
        break;
    }
  }
  return sandbox;
}

CriContainer ContainerOf(std::string_view message) {
  CriContainer container;
  while (const auto field = TakeField(message)) {
    switch (field->number) {
      case 2:
        container.sandbox_id = field->content;
        break;
      case 3:
        container.name = NameOf(field->content);
        break;
      case 6:
        container.started = field->value != kCreated;
        break;
      case 7:
        container.created = FromNanoseconds(field->value);
        break;
      default:
        break;
    }
  }
  return container;
}

// The messages of the repeated field 1.
template <typename Item>
Result<std::vector<Item>> Items(std::string_view message, std::string_view what,
                                Item (*read)(std::string_view)) {
  std::vector<Item> items;
  while (!message.empty()) {
    const auto field = TakeField(message);
    if (!field) {
      return Fail(ErrorKind::kInternal, format("read the runtime's {}: the list is broken", what));
    }
    if (field->number == 1) {
      items.push_back(read(field->content));
    }
  }
  return items;
}

}  // namespace

Result<std::vector<CriSandbox>> ParseCriSandboxes(std::string_view message) {
  return Items(message, "sandboxes", SandboxOf);
}

Result<std::vector<CriContainer>> ParseCriContainers(std::string_view message) {
  return Items(message, "containers", ContainerOf);
}

std::vector<std::string> StartsUnderWay(const std::vector<CriSandbox>& sandboxes,
                                        const std::vector<CriContainer>& containers, WallTime now) {
  std::vector<std::string> starts;
  for (const CriSandbox& sandbox : sandboxes) {
    const auto is_of_it = [&](const CriContainer& container) {
      return container.sandbox_id == sandbox.id;
    };
    if (sandbox.ready && sandbox.created > now - kStartTakes &&
        std::ranges::none_of(containers, is_of_it)) {
      starts.push_back(sandbox.pod);
    }
  }
  for (const CriContainer& container : containers) {
    if (container.started || container.created <= now - kStartTakes) {
      continue;
    }
    const auto pod = std::ranges::find(sandboxes, container.sandbox_id, &CriSandbox::id);
    starts.push_back((pod == sandboxes.end() ? "" : pod->pod + " ") + container.name);
  }
  return starts;
}

}  // namespace gantry::container
