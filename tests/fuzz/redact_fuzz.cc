// SPDX-License-Identifier: Apache-2.0
// A log or an object on its way into a support bundle. Whatever stands before it, a password and a
// token do not come through.
#include <cstddef>
#include <cstdint>

#include "doctor/redact.h"

namespace gantry::doctor {
namespace {

constexpr char kPassword[] = "sw0rdf1sh-sw0rdf1sh";
constexpr char kToken[] = "eyJhbGciOiJ9.eyJpc3MiOiJ9.c2lnbmF0dXJl";

bool Has(const std::string& text, const char* secret) {
  return text.find(secret) != std::string::npos;
}

void Fuzz(std::string_view bytes) {
  const std::string text(bytes);
  // Where nothing says that it is one, a password is a word.
  if (Has(text, kPassword) || Has(text, kToken)) {
    return;
  }
  CHECK(!Has(RedactedText(text + " password=" + kPassword), kPassword));
  CHECK(!Has(RedactedText(text + " https://me:" + kPassword + "@host/"), kPassword));
  CHECK(!Has(RedactedText(text + " " + kToken), kToken));
  if (const Result<Json> object = ParseJson(text); object.has_value()) {
    const Json secret = {{"kind", "Secret"}, {"metadata", *object}, {"data", {{"a", kPassword}}}};
    CHECK(TextAt(Redacted(secret), "data.a") == "(removed)");
    CHECK(Redacted(*object).type() == object->type());
  }
}

}  // namespace
}  // namespace gantry::doctor

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  gantry::doctor::Fuzz({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
