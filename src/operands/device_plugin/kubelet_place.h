// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace gantry::device_plugin {

// A folder in which a kubelet may listen.
struct KubeletPlace {
  std::string here;  // as this process spells it
  std::string host;  // as the host spells it
  bool exists = false;
  bool listens = false;  // a kubelet's socket there accepts connections
};

// The kubelet's place: where one listens, else an existing folder, else the first. `places` is not
// empty.
const KubeletPlace& ChoosePlace(const std::vector<KubeletPlace>& places);

// The message that no kubelet listens, with the folders and the remedy.
std::string NoKubelet(const std::vector<KubeletPlace>& places, const std::string& socket);

// Observes the folder.
KubeletPlace LookAtPlace(std::string here, std::string host, const std::string& socket);

}  // namespace gantry::device_plugin
