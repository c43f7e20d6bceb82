// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace gantry::device_plugin {

// A folder in which a kubelet may listen.
struct KubeletPlace {
  std::string here;  // as this process spells it
  std::string host;  // as the host does
  bool exists = false;
  bool listens = false;  // a kubelet's socket there takes connections
};

// Which of them is the kubelet's: where one listens, else one that is there, else the first. There
// is one at least.
const KubeletPlace& ChoosePlace(const std::vector<KubeletPlace>& places);

// That no kubelet listens, where, and what to do.
std::string NoKubelet(const std::vector<KubeletPlace>& places, const std::string& socket);

// What is seen of the folder.
KubeletPlace LookAtPlace(std::string here, std::string host, const std::string& socket);

}  // namespace gantry::device_plugin
