// SPDX-License-Identifier: Apache-2.0
// How does the program run that copies CUDA from an image to the node?
#include <cstdio>
#include <string_view>

#include "base/log.h"
#include "operands/cuda_toolkit/copy.h"

int main(int argc, char** argv) {
  using namespace gantry;
  cuda_toolkit::CopyRequest request;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
    if (name == "--version" && value.empty()) {
      std::printf("gantry-cuda %s\n", GANTRY_VERSION);
      return 0;
    }
    std::string* field = name == "--version" ? &request.version
                         : name == "--from"  ? &request.from
                         : name == "--to"    ? &request.cuda_root
                                             : nullptr;
    if (field == nullptr) {
      log::Error("read the command line: {} is not known", word);
      return 2;
    }
    *field = value;
  }
  if (cuda_toolkit::ReleaseOf(request.version).empty() || request.from.empty() ||
      request.cuda_root.empty()) {
    log::Error("usage: gantry-cuda --version=12.4 --from=FOLDER --to=FOLDER");
    return 2;
  }
  const auto copied = cuda_toolkit::CopyToolkit(request);
  if (!copied) {
    log::Error("{}", copied.error().message);
    return 1;
  }
  log::Info("CUDA {} {} {}", copied->version,
            copied->written ? "was copied to" : "is there already, in", copied->path);
  return 0;
}
