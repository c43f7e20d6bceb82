// SPDX-License-Identifier: Apache-2.0
// One call of a kubelet to a driver: `info SOCKET`, `notify SOCKET [ERROR]`, `prepare VERSION
// SOCKET NAMESPACE UID NAME`, `unprepare VERSION SOCKET NAMESPACE UID NAME`. Prints the response as
// JSON, or
// {"error": ...}.
#include <cstdio>
#include <string>
#include <vector>

#include "base/json.h"
#include "kubelet/dra/testing/fake_kubelet.h"

namespace {

using namespace gantry;
using namespace gantry::kubelet::dra;

Json Failed(const Error& error) { return {{"error", error.message}}; }

Json Info(const std::string& socket) {
  const auto info = AskInfo(socket);
  return info.has_value() ? Json{{"type", info->type},
                                 {"name", info->name},
                                 {"endpoint", info->endpoint},
                                 {"versions", info->versions}}
                          : Failed(info.error());
}

Json Prepare(const std::string& version, const std::string& socket, const Claim& claim) {
  const auto prepared = AskPrepare(socket, version, claim);
  if (!prepared.has_value()) {
    return Failed(prepared.error());
  }
  Json devices = Json::array();
  for (const PreparedDevice& one : *prepared) {
    devices.push_back({{"requests", one.requests},
                       {"pool", one.pool},
                       {"device", one.device},
                       {"cdi", one.cdi_ids}});
  }
  return {{"devices", devices}};
}

Json Done(const Status& status) {
  return status.has_value() ? Json::object() : Failed(status.error());
}

Json Call(std::vector<std::string> words) {
  words.resize(7);
  const Claim claim{.ns = words[4], .uid = words[5], .name = words[6]};
  if (words[1] == "info") {
    return Info(words[2]);
  }
  if (words[1] == "notify") {
    return Done(TellRegistered(words[2], words[3]));
  }
  if (words[1] == "prepare") {
    return Prepare(words[2], words[3], claim);
  }
  CHECK(words[1] == "unprepare");
  return Done(AskUnprepare(words[3], words[2], claim));
}

}  // namespace

int main(int argc, char** argv) {
  std::puts(Call({argv, argv + argc}).dump().c_str());
  return 0;
}
