// SPDX-License-Identifier: Apache-2.0
// Where does this node's kubelet listen? A socket in a folder may be a leftover of an earlier
// kubelet, so the check connects to it.
#include "operands/device_plugin/kubelet_place.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "base/paths.h"
#include "base/text.h"
#include "kubelet/plugin_socket.h"

namespace gantry::device_plugin {

const KubeletPlace& ChoosePlace(const std::vector<KubeletPlace>& places) {
  for (const auto fact : {&KubeletPlace::listens, &KubeletPlace::exists}) {
    if (const auto found = std::ranges::find(places, true, fact); found != places.end()) {
      return *found;
    }
  }
  return places.front();
}

std::string NoKubelet(const std::vector<KubeletPlace>& places, const std::string& socket) {
  std::vector<std::string> sockets;
  std::ranges::transform(places, std::back_inserter(sockets),
                         [&](const KubeletPlace& place) { return JoinPath(place.host, socket); });
  return format(
      "no kubelet listens on this node at {}; waiting for it (hostPaths.kubeletRootDir of the "
      "ClusterPolicy must be the kubelet's --root-dir)",
      Join(sockets, " or "));
}

KubeletPlace LookAtPlace(std::string here, std::string host, const std::string& socket) {
  KubeletPlace place{std::move(here), std::move(host)};
  place.exists = access(place.here.c_str(), F_OK) == 0;
  if (const auto connection = kubelet::ConnectTo(JoinPath(place.here, socket))) {
    close(*connection);
    place.listens = true;
  }
  return place;
}

}  // namespace gantry::device_plugin
