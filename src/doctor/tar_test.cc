// SPDX-License-Identifier: Apache-2.0
#include "doctor/tar.h"

#include <gtest/gtest.h>

namespace gantry::doctor {
namespace {

std::string Field(const std::string& head, size_t at, size_t size) {
  return std::string(head.substr(at, size).c_str());
}

// Offsets and forms are those of POSIX.1-1988, ustar. Real readers read an archive in
// tests/component/test_support.py.
TEST(Tar, AHead) {
  const std::string head = TarHead("a/b.txt", 1000, WallTime(std::chrono::seconds(8))).value();
  ASSERT_EQ(head.size(), 512U);
  EXPECT_EQ(Field(head, 0, 100), "a/b.txt");
  EXPECT_EQ(Field(head, 100, 8), "0000600");
  EXPECT_EQ(Field(head, 124, 12), "00000001750");
  EXPECT_EQ(Field(head, 136, 12), "00000000010");
  EXPECT_EQ(head[156], '0');
  EXPECT_EQ(head.substr(257, 8), std::string("ustar\00000", 8));
  EXPECT_EQ(Field(head, 345, 155), "");
  unsigned sum = 0;
  for (size_t i = 0; i < head.size(); ++i) {
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(head[i]);
  }
  EXPECT_EQ(std::stoul(Field(head, 148, 8), nullptr, 8), sum);
  EXPECT_EQ(head.substr(154, 2), std::string("\0 ", 2));
}

TEST(Tar, LongPathsAreSplitAtASlash) {
  const std::string folder(60, 'd');
  const std::string name(90, 'n');
  const std::string head = TarHead(folder + "/" + name, 0, WallTime()).value();
  EXPECT_EQ(Field(head, 0, 100), name);
  EXPECT_EQ(Field(head, 345, 155), folder);
  EXPECT_TRUE(TarHead(std::string(100, 'n'), 0, WallTime()).has_value());
  EXPECT_TRUE(
      TarHead(std::string(155, 'd') + "/" + std::string(100, 'n'), 0, WallTime()).has_value());
}

TEST(Tar, WhatHasNoPlaceIsRefused) {
  for (const std::string& path :
       {std::string(), std::string(101, 'n'), "/" + std::string(100, 'n'),
        "d/" + std::string(101, 'n'), std::string(156, 'd') + "/" + std::string(100, 'n')}) {
    const auto head = TarHead(path, 0, WallTime());
    ASSERT_FALSE(head.has_value()) << path.size();
    EXPECT_EQ(head.error().kind, ErrorKind::kInvalid);
  }
  EXPECT_FALSE(TarHead("a", 8ULL << 30U, WallTime()).has_value());
}

TEST(Tar, ContentIsFilledUp) {
  EXPECT_EQ(TarPadding(0).size(), 0U);
  EXPECT_EQ(TarPadding(1).size(), 511U);
  EXPECT_EQ(TarPadding(512).size(), 0U);
  EXPECT_EQ(TarEnd(), std::string(1024, '\0'));
}

}  // namespace
}  // namespace gantry::doctor
