// SPDX-License-Identifier: Apache-2.0
// Measures what the Kubernetes client costs a process: `kube_probe KUBECONFIG [SECONDS]` watches
// nodes, daemon sets and config maps as the operator does, and prints `name value unit` lines.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "kube/cache.h"
#include "kube/client.h"
#include "kube/watch.h"

namespace gantry::kube {
namespace {

// A field of /proc/self/status in kB.
long Memory(const std::string& field) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with(field)) {
      return std::strtol(line.c_str() + field.size() + 1, nullptr, 10);
    }
  }
  return -1;
}

int Probe(int argc, char** argv) {
  const auto started = std::chrono::steady_clock::now();
  const auto since = [started] {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started)
        .count();
  };
  std::printf("rss_start %ld kB\n", Memory("VmRSS:"));
  auto config = LoadConfig(argc > 1 ? argv[1] : "");
  if (!config.has_value()) {
    std::fprintf(stderr, "%s\n", config.error().message.c_str());
    return 1;
  }
  auto client = Client::Create(*std::move(config)).value();
  std::printf("client_made %.2f ms\nrss_client %ld kB\n", since(), Memory("VmRSS:"));
  const auto answer = client->Get(kinds::kNamespace, {"", "default"});
  std::printf("first_answer %.2f ms\nrss_first_answer %ld kB\n", since(), Memory("VmRSS:"));
  const auto name = [](const Json& object) { return KeyOf(object).name; };
  Cache<std::string> nodes(name);
  Cache<std::string> sets(name);
  Cache<std::string> maps(name);
  Watch watch_nodes(*client, kinds::kNode, {}, nodes);
  Watch watch_sets(*client, kinds::kDaemonSet, {}, sets);
  Watch watch_maps(*client, kinds::kConfigMap, {}, maps);
  for (Watch* watch : {&watch_nodes, &watch_sets, &watch_maps}) {
    watch->Start();
  }
  for (const Cache<std::string>* cache : {&nodes, &sets, &maps}) {
    cache->WaitSynced({});
  }
  std::printf("three_kinds_synced %.2f ms\nnodes %zu objects\n", since(), nodes.size());
  std::this_thread::sleep_for(std::chrono::seconds(argc > 2 ? std::atoi(argv[2]) : 1));
  std::printf("rss_watching %ld kB\nrss_peak %ld kB\nconnections %d connections\n",
              Memory("VmRSS:"), Memory("VmHWM:"), client->open_connections());
  return answer.has_value() ? 0 : 1;
}

}  // namespace
}  // namespace gantry::kube

int main(int argc, char** argv) { return gantry::kube::Probe(argc, argv); }
