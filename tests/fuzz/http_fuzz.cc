// SPDX-License-Identifier: Apache-2.0
// HTTP from a peer: answers of an API server, requests to our metrics port. An answer is the same
// however the network cuts it.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "http/http.h"

namespace gantry::kube {
namespace {

struct Answer {
  bool well = true;
  bool done = false;
  int status = 0;
  std::optional<std::string> retry_after;
  std::string body;
  bool operator==(const Answer&) const = default;
};

Answer Read(std::string_view text, size_t step) {
  Answer answer;
  http::ResponseReader reader([&answer](std::string_view piece) { answer.body += piece; });
  for (size_t at = 0; answer.well && at < text.size(); at += step) {
    answer.well = reader.Feed(text.substr(at, step)).has_value();
  }
  answer.done = reader.done();
  answer.status = reader.status();
  answer.retry_after = reader.retry_after();
  if (answer.well) {
    static_cast<void>(reader.End());
  }
  return answer;
}

void Fuzz(std::string_view text) {
  const Answer whole = Read(text, std::max<size_t>(text.size(), 1));
  for (const size_t step : {size_t{1}, size_t{7}}) {
    const Answer cut = Read(text, step);
    CHECK(!whole.well || !whole.done || cut == whole);
  }
  const Result<std::optional<http::RequestHead>> head = http::ReadRequestHead(text);
  CHECK(!head.has_value() || !head->has_value() || !(*head)->target.empty());
}

}  // namespace
}  // namespace gantry::kube

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  gantry::kube::Fuzz({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
