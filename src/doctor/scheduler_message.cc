// SPDX-License-Identifier: Apache-2.0
// What does the scheduler's message say about a pod that it can't place? "0/3 nodes are available:
// 1 Insufficient cpu, 2 Insufficient nvidia.com/gpu. preemption: ...".
#include "doctor/scheduler_message.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"

namespace gantry::doctor {

std::string FirstSentence(const std::string& message) {
  std::string sentence = message.substr(0, message.find(". "));
  while (sentence.ends_with('.')) {
    sentence.pop_back();
  }
  return sentence;
}

Shortage ShortageOf(const std::string& message) {
  constexpr std::string_view kWord = " Insufficient ";
  Shortage shortage;
  // A second sentence repeats it for preemption.
  const std::string_view text = std::string_view(message).substr(0, message.find("preemption:"));
  for (size_t at = text.find(kWord); at != std::string_view::npos;
       at = text.find(kWord, at + kWord.size())) {
    const std::string_view before = text.substr(0, at);
    const size_t ns = before.find_last_of(' ');
    const long long nodes =
        ParseInt(before.substr(ns == std::string_view::npos ? 0 : ns + 1)).value_or(0);
    const std::string_view rest = text.substr(at + kWord.size());
    std::string resource(rest.substr(0, rest.find_first_of(", ")));
    while (resource.ends_with('.')) {
      resource.pop_back();
    }
    if (resource.starts_with("nvidia.com/")) {
      shortage.gpus += nodes;
    } else {
      shortage.others.push_back(std::move(resource));
    }
  }
  return shortage;
}

std::vector<std::string> OtherReasons(const std::string& message) {
  constexpr std::string_view kBefore = " nodes are available: ";
  static constexpr std::array<std::string_view, 8> kKnown = {
      "Insufficient ",       "taint",
      "didn't tolerate",     "Pod's node affinity",
      "match node affinity", "match node selector",
      "[NodeAffinity]",      "were unschedulable"};
  const std::string sentence = FirstSentence(message);
  const size_t before = sentence.find(kBefore);
  if (before == std::string::npos) {
    return {};
  }
  std::vector<std::string> reasons;
  for (const std::string& part :
       Split(std::string_view(sentence).substr(before + kBefore.size()), ',')) {
    std::string reason(Trim(part));
    const bool known = std::ranges::any_of(kKnown, [&reason](std::string_view words) {
      return reason.find(words) != std::string::npos;
    });
    if (!known && !reason.empty()) {
      reasons.push_back(std::move(reason));
    }
  }
  return reasons;
}

bool IsOfFreeGpus(const std::string& reason, const Shortage& shortage) {
  static constexpr std::array<std::string_view, 4> kAfterGpus = {
      "Too many pods", "olume", "topology spread", "affinity rules"};
  return (shortage.gpus == 0 && reason.find("free ports") != std::string::npos) ||
         std::ranges::any_of(kAfterGpus, [&reason](std::string_view words) {
           return reason.find(words) != std::string::npos;
         });
}

}  // namespace gantry::doctor
