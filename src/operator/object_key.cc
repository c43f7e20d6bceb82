// SPDX-License-Identifier: Apache-2.0

// Which object is it, and which part of it is compared with the desired one?

#include "operator/object_key.h"

namespace gantry::gpu_operator {

ObjectKey KeyOfObject(const Json& object) {
  return {TextAt(object, "kind"), TextAt(object, "metadata.namespace"),
          TextAt(object, "metadata.name")};
}

std::string ContentOf(const Json& object) {
  Json content = object;
  content.erase("status");
  if (const auto metadata = content.find("metadata"); metadata != content.end()) {
    for (const char* key :
         {"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid"}) {
      metadata->erase(key);
    }
  }
  return content.dump();
}

}  // namespace gantry::gpu_operator
