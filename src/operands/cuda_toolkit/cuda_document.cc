// SPDX-License-Identifier: Apache-2.0
// What does a container get that requests a release of CUDA? A CDI mount hides the image's files at
// its path, so it uses a path where no image has CUDA; names that the image lacks are linked to it.
#include "operands/cuda_toolkit/cuda_document.h"

#include "base/paths.h"
#include "base/text.h"
#include "container/cdi_hooks.h"
#include "policy/names.h"

namespace gantry::cuda_toolkit {
namespace {

container::CdiEdits EditsOf(const OfferedCuda& cuda, const std::string& hook_path) {
  const std::string mounted = format("/opt/nvidia/cuda-{}", cuda.release);
  container::CdiEdits edits;
  edits.mounts.push_back({cuda.host_path, mounted, {"ro", "nosuid", "nodev", "rbind", "rprivate"}});
  if (hook_path.empty()) {
    return edits;
  }
  std::vector<std::string> args = container::HookWords(hook_path, "create-container");
  args.insert(args.end(),
              {"--link-if-absent", format("{}::/usr/local/cuda-{}", mounted, cuda.release),
               "--link-if-absent", format("cuda-{}::/usr/local/cuda", cuda.release)});
  for (const std::string& soname : cuda.sonames) {
    args.emplace_back("--cuda-library");
    args.push_back(format("{}={}", soname, JoinPath(JoinPath(mounted, cuda.libraries), soname)));
  }
  edits.hooks.push_back({"createContainer", hook_path, std::move(args), {}});
  return edits;
}

}  // namespace

container::CdiSpec CudaDocument(const std::vector<OfferedCuda>& offered,
                                std::string_view default_release, const std::string& hook_path) {
  container::CdiSpec spec;
  spec.kind = names::kCudaCdiKind;
  for (const OfferedCuda& cuda : offered) {
    const container::CdiEdits edits = EditsOf(cuda, hook_path);
    spec.devices.push_back({cuda.release, edits});
    if (cuda.release == default_release) {
      spec.devices.push_back({names::kCudaDefaultDevice, edits});
    }
  }
  return spec;
}

}  // namespace gantry::cuda_toolkit
