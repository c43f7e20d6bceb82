// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/json.h"

// NodeFeature objects (nfd.k8s-sigs.io/v1alpha1), by which the agents of a node tell the operator,
// or an NFD master, which labels the node should have.
namespace gantry::policy {

struct NodeFeature {
  std::string name;
  std::string ns;  // its namespace
  std::string node;
  // The version that its writer goes by, as worker.version; empty: no such annotation.
  std::string worker_version;
  std::map<std::string, std::string> labels;            // label key, with prefix -> value
  std::map<std::string, std::string> annotations = {};  // of the object itself
  Json features = {};  // spec.features; null: what is stored stays, or nothing is said
};

// What worker.version of our own worker is: "gantry-<version>".
std::string OurWorkerVersion();
// True for an object whose worker.version is that of a worker of ours, of any version.
bool IsFromOurWorker(const Json& node_feature);

// The object to store: what is wanted laid over what is stored (null or nullptr: nothing is). It
// equals `stored` exactly when nothing needs to be written; labels and annotations that others put
// on the object stay. Nobody owns it: it outlives the pod that wrote it, and a Node that is deleted
// and registers anew; what nodes that stay away have left, the operator deletes.
Json NodeFeatureObject(const NodeFeature& wanted, const Json* stored);

// The `spec.labels` of a stored object; what is no string is left out.
std::map<std::string, std::string> NodeFeatureLabels(const Json& stored);

}  // namespace gantry::policy
