// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "operator/desired/operands.h"

namespace gantry::gpu_operator {

// Keeps the operands while their input is unchanged.
class OperandCache {
 public:
  // None without an owner. Valid until the next call.
  const std::vector<DesiredOperand>& OperandsFor(const Context& context, bool node_features) {
    if (!made_.has_value() || made_->context != context || made_->node_features != node_features) {
      made_ = {context, node_features,
               context.owners.empty() ? std::vector<DesiredOperand>()
                                      : DesiredOperands(context, node_features)};
    }
    return made_->operands;
  }

 private:
  struct Made {
    Context context;
    bool node_features = false;
    std::vector<DesiredOperand> operands;
  };
  std::optional<Made> made_;
};

}  // namespace gantry::gpu_operator
