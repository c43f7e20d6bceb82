// SPDX-License-Identifier: Apache-2.0
// What the driver container reads: a compiler's log, files of parameters, /proc/modules, control
// groups, the names in a package, a kernel's Makefile.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

#include "host/pods_of_node.h"
#include "operands/driver/compile_error.h"
#include "operands/driver/install_plan.h"
#include "operands/driver/modules.h"

namespace gantry::driver {
namespace {

bool IsOneLine(std::string_view text) {
  return text.find('\n') == std::string_view::npos && text.find('\0') == std::string_view::npos;
}

void Fuzz(std::string_view text) {
  const std::string error = FirstError(text, "/cache");
  CHECK(error.size() <= 300 && IsOneLine(error));
  if (const auto parameters = ModuleParameters("x.conf", text)) {
    CHECK(IsOneLine(*parameters));
    // Read again, it is the same.
    CHECK(ModuleParameters("x.conf", *parameters).value_or("") == *parameters ||
          parameters->find('#') != std::string::npos);
  }
  const std::vector<std::string> order = UnloadOrder({"nvidia", "nvidia-uvm"}, text);
  CHECK(std::set(order.begin(), order.end()).size() == order.size());
  const std::string uid = host::PodUidOf(text);
  CHECK(uid.empty() || uid.size() == 36 || uid.size() == 32);
  CHECK(ParsePackage(text, text, text).kernel_release.find('/') == std::string::npos);
  CHECK(CommonHeaders(text).find('\n') == std::string::npos);
  CHECK(ParseTreeName(text).version.find('/') == std::string::npos);
}

}  // namespace
}  // namespace gantry::driver

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  gantry::driver::Fuzz({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
