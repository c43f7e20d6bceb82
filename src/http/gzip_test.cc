// SPDX-License-Identifier: Apache-2.0
#include "http/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace gantry::http {
namespace {

TEST(Gzip, IsUsedWhenTheClientTakesIt) {
  struct Case {
    const char* accept_encoding;
    bool accepted;
  };
  for (const Case& one : {
           Case{"", false},
           Case{"identity", false},
           Case{"gzip", true},
           Case{"GZIP", true},
           Case{"deflate, gzip", true},
           Case{"deflate, gzip;q=1.0, *;q=0.5", true},
           Case{"gzip;q=0.1", true},
           Case{"gzip;q=0", false},
           Case{"gzip; q=0.000, *", false},
           Case{"*", true},
           Case{"*;q=0", false},
           Case{"xgzip", false},
       }) {
    EXPECT_EQ(AcceptsGzip(one.accept_encoding), one.accepted) << one.accept_encoding;
  }
}

std::string Unpack(std::string packed, size_t size) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string text(size + 1, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

TEST(Gzip, GivesTheTextBack) {
  std::string lines;
  for (int i = 0; i < 20'000; ++i) {
    lines += "gpu_temperature{gpu=\"" + std::to_string(i) + "\"} 40\n";
  }
  for (const std::string& text : {std::string(), std::string("short"), lines}) {
    EXPECT_EQ(Unpack(Gzip(text), text.size()), text);
  }
  EXPECT_LT(Gzip(lines).size(), lines.size() / 5);
}

}  // namespace
}  // namespace gantry::http
