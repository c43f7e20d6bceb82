// SPDX-License-Identifier: Apache-2.0
// Which responses are compressed, and how.
#include "http/gzip.h"

#include <zlib.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace gantry::http {
namespace {

// deflateInit2: the largest window, and 16 for gzip's head and tail instead of zlib's.
constexpr int kGzipWindow = 15 + 16;
constexpr int kMemoryLevel = 8;  // zlib's default

// "gzip; q=0" refuses it: every digit of the weight is 0.
bool IsRefused(std::string_view parameters) {
  const size_t weight = parameters.find("q=");
  return weight != std::string_view::npos &&
         parameters.substr(weight + 2).find_first_not_of("0. \t") == std::string_view::npos;
}

}  // namespace

bool AcceptsGzip(std::string_view accept_encoding) {
  bool any = false;
  for (const std::string& item : Split(Lower(accept_encoding), ',')) {
    const size_t end = std::min(item.find(';'), item.size());
    const std::string_view name = Trim(std::string_view(item).substr(0, end));
    const bool accepted = !IsRefused(std::string_view(item).substr(end));
    if (name == "gzip") {
      return accepted;
    }
    any = any || (name == "*" && accepted);
  }
  return any;
}

std::string Gzip(std::string_view text) {
  z_stream stream{};
  CHECK(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  // zlib's input is not const, but is not written to.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace gantry::http
