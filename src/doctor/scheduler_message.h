// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace gantry::doctor {

// The message's counts of nodes that lack resources.
struct Shortage {
  long long gpus = 0;               // nodes that lack free GPUs
  std::vector<std::string> others;  // other resources that nodes lack
};

// The first sentence: the next one is about preemption.
std::string FirstSentence(const std::string& message);

Shortage ShortageOf(const std::string& message);

// The reasons other than resources why nodes reject the pod. Taints, labels and cordons have
// findings of their own.
std::vector<std::string> OtherReasons(const std::string& message);

// Whether a node that rejects the pod for that reason has its GPUs free: the scheduler checks ports
// before GPUs, and these reasons after them. Other schedulers' plugins have other messages.
bool IsOfFreeGpus(const std::string& reason, const Shortage& shortage);

}  // namespace gantry::doctor
