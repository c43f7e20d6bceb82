// SPDX-License-Identifier: Apache-2.0
// What changed according to a complete list, read after a watch had to be abandoned? Only a list
// that was read to its end proves that an object was deleted.
#include "kube/relist.h"

namespace gantry::kube {

bool Known::Changed(const Key& key, const std::string& resource_version) {
  Entry& entry = known_[key];
  entry.list = list_;
  // Without a resourceVersion, two versions of an object can't be told apart.
  if (!resource_version.empty() && entry.resource_version == resource_version) {
    return false;
  }
  entry.resource_version = resource_version;
  return true;
}

bool Known::Gone(const Key& key) { return known_.erase(key) > 0; }

void Known::BeginList() { ++list_; }

std::vector<Key> Known::EndList() {
  std::vector<Key> gone;
  for (auto entry = known_.begin(); entry != known_.end();) {
    if (entry->second.list == list_) {
      ++entry;
    } else {
      gone.push_back(entry->first);
      entry = known_.erase(entry);
    }
  }
  return gone;
}

}  // namespace gantry::kube
