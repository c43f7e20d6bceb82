// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "operands/validator/flags.h"

// The few requests that a validator makes to the API server; no connection stays open.
namespace gantry::validator {

// The labels of this node. As kube::Client fails.
Result<std::map<std::string, std::string>> NodeLabels(const Flags& flags);

// Says what was found of this node: the label nvidia.com/gpu.validation ("ready", or the reason why
// not), and the whole sentence as an annotation, in the NodeFeature object
// nvidia-validation-for-<node>, by which the operator gets them; and an event on the Node with that
// sentence. Of a node that is ready, with nothing to be done, nothing is written if it was said
// before; else at least the event is renewed.
Status Publish(const Flags& flags, const std::string& reason, const std::string& message);

}  // namespace gantry::validator
