// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/json.h"

// NodeFeature objects (nfd.k8s-sigs.io/v1alpha1), by which the agents of a node publish the node's
// labels to the operator, or to an NFD master.
namespace gantry::policy {

struct NodeFeature {
  std::string name;
  std::string ns;  // its namespace
  std::string node;
  // Its writer's version, as worker.version; empty: no such annotation.
  std::string worker_version;
  std::map<std::string, std::string> labels;            // label key, with prefix -> value
  std::map<std::string, std::string> annotations = {};  // of the object itself
  Json features = {};  // spec.features; null: keeps what is stored, or empty
};

// The worker.version of Gantry's worker: "gantry-<version>".
std::string OurWorkerVersion();
// True if the object's worker.version is that of a Gantry worker, of any version.
bool IsFromOurWorker(const Json& node_feature);

// The object to store: the wanted fields merged into the stored object (null or nullptr: none). It
// equals `stored` exactly if no write is needed; other writers' labels and annotations are kept. It
// has no owner: it outlives its pod, and a Node that is deleted and registers again; the operator
// deletes the objects of removed nodes.
Json NodeFeatureObject(const NodeFeature& wanted, const Json* stored);

// The `spec.labels` of a stored object; values that are not strings are left out.
std::map<std::string, std::string> NodeFeatureLabels(const Json& stored);

}  // namespace gantry::policy
