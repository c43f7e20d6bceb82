// SPDX-License-Identifier: Apache-2.0
// The one line that a hook needs of a configuration, whatever stands around it.
#include "container/oci_root.h"

#include <gtest/gtest.h>

namespace gantry::container {
namespace {

TEST(OciRoot, WhateverStandsAroundIt) {
  EXPECT_EQ(OciRootPath(R"({"root": {"path": "rootfs", "readonly": true}})"), "rootfs");
  EXPECT_EQ(OciRootPath(R"( { "a" : [1, {"root": {"path": "x"}}, "]}"], "b":-1.5e3,
      "process": {"env": ["root={\"path\":\"x\"}", "\\"]}, "c":null , "root" :
      {"readonly":false,"path":"/r \"q\" \u00e4"} ,"linux":{"root":{"path":"wrong"}} } )"),
            "/r \"q\" ä");
  EXPECT_EQ(OciRootPath(R"({"a": "\"}", "root": {"path": "quoted"}})"), "quoted");
  EXPECT_EQ(OciRootPath(R"({"ro\u006ft": {"path": "spelled"}})"), "spelled");
  EXPECT_EQ(OciRootPath(R"({"root": {"path": "first"}, "root": {"path": "last"}})"), "last");
}

TEST(OciRoot, EmptyWhereThereIsNone) {
  for (const char* text :
       {"", "{", "{}", "[]", "7", R"("root")", R"({"root"})", R"({"root":)", R"({"root": 7})",
        R"({"root": {"path": 7}})", R"({"root": "rootfs"})", R"({"root": {"path": "cut"})",
        R"({"root": {"path": "cut"}, "x)", R"({"root": {"path": "cut)", R"({"root":})",
        R"({"linux": {"root": {"path": "wrong"}}})"}) {
    EXPECT_EQ(OciRootPath(text), "") << text;
  }
}

}  // namespace
}  // namespace gantry::container
