// SPDX-License-Identifier: Apache-2.0
// Where are the labels published? In a NodeFeature object, or a file. They are not removed at the
// end: the pod does not own the object, because labels that are deleted with a pod would also
// delete the other operands' pods. The Node owns the GPUs' objects.
#include "operands/gpu_features/publisher.h"

#include <cstdio>

#include "base/paths.h"
#include "base/text.h"
#include "host/files.h"
#include "kube/client.h"
#include "policy/kinds.h"
#include "policy/names.h"
#include "policy/node_feature.h"

namespace gantry::gpu_features {
namespace {

std::string ToLines(const LabelMap& labels) {
  std::string text;
  for (const auto& [key, value] : labels) {
    text += format("{}={}\n", key, value);
  }
  return text;
}

LabelMap FromLines(const std::string& text) {
  LabelMap labels;
  for (const std::string& line : Split(text, '\n')) {
    if (const size_t equals = line.find('='); equals != std::string::npos) {
      labels[line.substr(0, equals)] = line.substr(equals + 1);
    }
  }
  return labels;
}

Result<bool> StoreLabels(const agent::FeaturePublisher& publisher, kube::Client& client,
                         const LabelMap& labels) {
  return publisher.Store(client, names::kGpuFeature + publisher.node(), [&](const Json* stored) {
    const LabelMap published = stored != nullptr ? policy::NodeFeatureLabels(*stored) : LabelMap{};
    policy::NodeFeature wanted;
    wanted.labels = KeepTimestamp(labels, published);
    return wanted;
  });
}

Result<bool> StoreDevices(const std::string& node_name, kube::Client& client,
                          const std::vector<policy::DeviceFacts>& devices) {
  std::vector<Json> stored;
  const auto listed =
      client.List(policy::kDevice, {.labels = format("{}={}", names::kDeviceNode, node_name)},
                  [&](Json item) { stored.push_back(std::move(item)); });
  if (!listed.has_value()) {
    return listed.error().kind == ErrorKind::kNotFound ? Result<bool>(false)
                                                       : std::unexpected(listed.error());
  }
  TRY_ASSIGN(const Json node, client.Get(kube::kinds::kNode, {"", node_name}));
  const policy::DeviceChanges changes =
      policy::PlanDevices(devices, node_name, kube::UidOf(node), stored);
  for (const Json& object : changes.create) {
    TRY(client.Create(policy::kDevice, object));
  }
  for (const auto& [name, patch] : changes.patch) {
    TRY(client.MergePatch(policy::kDevice, {"", name}, patch));
  }
  for (const std::string& name : changes.remove) {
    TRY(client.Delete(policy::kDevice, {"", name}));
  }
  return !changes.create.empty() || !changes.patch.empty() || !changes.remove.empty();
}

}  // namespace

Result<bool> Publish(const agent::FeaturePublisher& publisher, kube::Client& client,
                     const Publication& publication) {
  bool labelled = false;
  if (publication.labels.has_value()) {
    TRY_ASSIGN(labelled, StoreLabels(publisher, client, *publication.labels));
  }
  TRY_ASSIGN(const bool told, StoreDevices(publisher.node(), client, publication.devices));
  return labelled || told;
}

Result<bool> PublishFile(const std::string& path, const LabelMap& labels) {
  if (path.empty()) {
    std::fputs(ToLines(labels).c_str(), stdout);
    std::fflush(stdout);
    return true;
  }
  const LabelMap published = FromLines(ReadFile(path).value_or(""));
  TRY(host::MakeDirectories(ParentOf(path)));
  return host::WriteIfDifferent(path, ToLines(KeepTimestamp(labels, published)));
}

}  // namespace gantry::gpu_features
