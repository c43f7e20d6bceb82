// SPDX-License-Identifier: Apache-2.0
// How long does it take to give one label to each of many nodes, and nothing else? The peer of the
// operator's labelling: the same client, the same API server, one patch after the other. Prints the
// seconds.
// usage: patch_nodes KUBECONFIG SELECTOR KEY=VALUE
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/kind.h"
#include "kube/object.h"

namespace {

using gantry::Json;
using gantry::Result;

Result<double> PatchAll(const std::string& kubeconfig, const std::string& selector,
                        const std::string& label) {
  TRY_ASSIGN(auto config, gantry::kube::LoadConfig(kubeconfig));
  gantry::kube::ClientOptions options;
  options.component = "bench";
  TRY_ASSIGN(const auto client, gantry::kube::Client::Create(std::move(config), options));
  std::vector<gantry::kube::Key> nodes;
  TRY_ASSIGN(const auto version,
             client->List(gantry::kube::kinds::kNode, {"", selector, ""},
                          [&](const Json& node) { nodes.push_back(gantry::kube::KeyOf(node)); }));
  const auto equals = label.find('=');
  const Json patch = {
      {"metadata", {{"labels", {{label.substr(0, equals), label.substr(equals + 1)}}}}}};
  const auto start = std::chrono::steady_clock::now();
  for (const auto& node : nodes) {
    TRY_ASSIGN(const Json stored, client->MergePatch(gantry::kube::kinds::kNode, node, patch));
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return took.count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 || std::string(argv[3]).find('=') == std::string::npos) {
    std::fprintf(stderr, "usage: patch_nodes KUBECONFIG SELECTOR KEY=VALUE\n");
    return 2;
  }
  const auto seconds = PatchAll(argv[1], argv[2], argv[3]);
  if (!seconds.has_value()) {
    std::fprintf(stderr, "patch_nodes: %s\n", seconds.error().message.c_str());
    return 1;
  }
  std::printf("%.3f\n", *seconds);
  return 0;
}
