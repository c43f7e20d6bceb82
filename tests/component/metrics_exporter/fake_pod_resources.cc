// SPDX-License-Identifier: Apache-2.0
// The kubelet's list of pods and their devices, from a file that the test writes: argv[1] is the
// socket, argv[2] the file, [{"namespace", "name", "container", "resource", "ids", "claims"}], a
// claim being {"claim", "pool", "device"}. While the file says "slow", a call takes as long as the
// caller waits. Each call adds a byte to the file argv[2].calls. The devices that it can allocate
// are in the file argv[2].allocatable, [{"resource", "ids"}]; without it there are none.
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <fstream>

#include "base/json.h"
#include "base/paths.h"
#include "pod_resources_v1.grpc.pb.h"

namespace {

using namespace gantry;

class Lister final : public v1::PodResourcesLister::Service {
 public:
  explicit Lister(std::string file) : file_(std::move(file)) {}

  grpc::Status List(grpc::ServerContext* context, const v1::ListPodResourcesRequest* /*request*/,
                    v1::ListPodResourcesResponse* response) override {
    std::ofstream(file_ + ".calls", std::ios::app) << ".";
    const std::string text = ReadFile(file_).value_or("[]");
    while (text == "slow" && !context->IsCancelled()) {
      usleep(10'000);
    }
    const Json pods = ParseJson(text).value_or(Json::array());
    for (const Json& one : pods) {
      auto* pod = response->add_pod_resources();
      pod->set_namespace_(TextAt(one, "namespace"));
      pod->set_name(TextAt(one, "name"));
      auto* container = pod->add_containers();
      container->set_name(TextAt(one, "container"));
      for (const Json& claim : ListAt(one, "claims")) {
        auto* resource = container->add_dynamic_resources();
        resource->set_claim_name(TextAt(claim, "claim"));
        resource->set_claim_namespace(TextAt(one, "namespace"));
        auto* device = resource->add_claim_resources();
        device->set_driver_name("gpu.nvidia.com");
        device->set_pool_name(TextAt(claim, "pool"));
        device->set_device_name(TextAt(claim, "device"));
      }
      auto* devices = container->add_devices();
      devices->set_resource_name(TextAt(one, "resource"));
      for (const std::string& id : TextsAt(one, "ids")) {
        devices->add_device_ids(id);
      }
    }
    return grpc::Status::OK;
  }

  grpc::Status GetAllocatableResources(grpc::ServerContext* /*context*/,
                                       const v1::AllocatableResourcesRequest* /*request*/,
                                       v1::AllocatableResourcesResponse* response) override {
    const Json all =
        ParseJson(ReadFile(file_ + ".allocatable").value_or("[]")).value_or(Json::array());
    for (const Json& one : all) {
      auto* devices = response->add_devices();
      devices->set_resource_name(TextAt(one, "resource"));
      for (const std::string& id : TextsAt(one, "ids")) {
        devices->add_device_ids(id);
      }
    }
    return grpc::Status::OK;
  }

 private:
  const std::string file_;
};

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc == 3);
  Lister lister(argv[2]);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(std::string("unix:") + argv[1], grpc::InsecureServerCredentials());
  builder.RegisterService(&lister);
  builder.BuildAndStart()->Wait();
  return 0;
}
