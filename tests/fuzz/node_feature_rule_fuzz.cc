// SPDX-License-Identifier: Apache-2.0
// Rules and templates of NodeFeatureRules, which whoever may write such an object has written, and
// the features they are evaluated on. A text that begins with '{' or '[' is rules, another one a
// template.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nfd/evaluate.h"
#include "nfd/label_policy.h"
#include "nfd/match.h"

namespace gantry::nfd {
namespace {

Features Node() {
  Features features;
  features.flags["kernel.loadedmodule"] = {"nvidia", "nvidia_peermem"};
  features.attributes["kernel.version"] = {{"full", "6.1.0"}, {"major", "6"}};
  features.instances["pci.device"] = {{{"vendor", "10de"}, {"class", "0302"}},
                                      {{"vendor", "15b3"}, {"class", "0207"}}};
  return features;
}

void Fuzz(std::string_view text) {
  const auto json = ParseJson(text);
  if (!json.has_value()) {
    if (const auto parsed = Template::Parse(text); parsed.has_value()) {
      const auto map = std::make_shared<const Value::Map>(
          Value::Map{{"a", {std::string("b")}},
                     {"list", {std::make_shared<const Value::List>(Value::List{{1LL}, {true}})}}});
      const auto expanded = parsed->Expand({map});
      CHECK(!expanded.has_value() || expanded->size() <= 64UL * 1024);
    }
    WholeQuantity(text);
    const auto versions = CompareVersions(text, text);
    CHECK(!versions.has_value() || *versions == 0);
    return;
  }
  const ParsedRules parsed = ParseRules(*json);
  const Needs needs = NeedsOf(parsed.rules);
  CHECK(Covers(needs, needs));
  // What is kept gives the same answers as the whole.
  CHECK(Evaluate({{"o", parsed.rules}}, Keep(Node(), needs)).labels ==
        Evaluate({{"o", parsed.rules}}, Node()).labels);
  const Features features = FeaturesFrom(*json);
  CHECK(FeaturesFrom(ToJson(features)) == features);
}

}  // namespace
}  // namespace gantry::nfd

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  gantry::nfd::Fuzz({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
