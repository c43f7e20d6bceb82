// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "kube/object.h"

namespace gantry::kube {

// The objects that a watch has reported to its sink: keys and resourceVersions. Decides what a new
// complete list, or one event, changes. Not thread-safe.
class Known {
 public:
  // One object of an event or of a list: whether the sink must be called.
  bool Changed(const Key& key, const std::string& resource_version);
  // The server reports an object as deleted: whether the sink knew it.
  bool Gone(const Key& key);

  // Around a complete list: objects not seen between the two calls are deleted. A list that broke
  // off is followed by another BeginList, and deletes nothing.
  void BeginList();
  std::vector<Key> EndList();

  [[nodiscard]] size_t size() const { return known_.size(); }

 private:
  struct Entry {
    std::string resource_version;
    unsigned list = 0;  // the number of the list in which it was seen last
  };
  std::unordered_map<Key, Entry> known_;
  unsigned list_ = 0;
};

}  // namespace gantry::kube
