// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "kube/object.h"

namespace gantry::kube {

// What a watch has told its sink: each object's key and resourceVersion. Decides what a new full
// list, or one event, changes. Not thread-safe.
class Known {
 public:
  // One object of an event or of a list that is being read: whether the sink must be told.
  bool Changed(const Key& key, const std::string& resource_version);
  // An object that the server says is gone: whether the sink knew it.
  bool Gone(const Key& key);

  // Around a full list: what was not seen between the two is gone. A list that broke off in the
  // middle is followed by another BeginList, and removes nothing.
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
