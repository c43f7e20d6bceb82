// SPDX-License-Identifier: Apache-2.0
// A kubelet that a test asks over standard input, a line a question; it answers with a line of
// JSON. argv[1] is the folder of the plugins' sockets. It ends when its input does.
//   devices                  {RESOURCE: {DEVICE: whether it is healthy}}
//   allocate RESOURCE ID...  "", or why the plugin refuses
#include "kubelet/testing/fake_kubelet.h"

#include <iostream>

#include "base/json.h"
#include "base/text.h"

namespace {

using namespace gantry;

Json Answer(kubelet::FakeKubelet& kubelet, const std::vector<std::string>& words) {
  if (words[0] == "allocate" && words.size() > 2) {
    const auto allocated = kubelet.Allocate(words[1], {words.begin() + 2, words.end()});
    return allocated.has_value() ? "" : allocated.error().message;
  }
  Json resources = Json::object();
  for (const auto& [resource, devices] : kubelet.AllDevices()) {
    Json& ids = resources[resource] = Json::object();
    for (const kubelet::Device& device : devices) {
      ids[device.id] = device.healthy;
    }
  }
  return resources;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    return 1;
  }
  kubelet::FakeKubelet kubelet(argv[1]);
  kubelet.Start();
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << Answer(kubelet, Split(line, ' ')).dump() << std::endl;
  }
  return 0;
}
