// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "operands/validator/flags.h"

// The few requests that a validator makes to the API server; no connection stays open.
namespace gantry::validator {

// The labels of this node. Errors as kube::Client.
Result<std::map<std::string, std::string>> NodeLabels(const Flags& flags);

// Publishes the verdict on this node for the operator: the label nvidia.com/gpu.validation
// ("ready", or the reason why not), and the message as an annotation, in the NodeFeature object
// nvidia-validation-for-<node>; and an event on the Node with the message. For a ready node without
// a remedy nothing is written if it is unchanged; else at least the event is renewed.
Status Publish(const Flags& flags, const std::string& reason, const std::string& message);

}  // namespace gantry::validator
