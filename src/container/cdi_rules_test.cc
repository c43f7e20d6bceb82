// SPDX-License-Identifier: Apache-2.0
// Which documents does the CDI library of containerd and CRI-O leave out?
#include "container/cdi_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::container {
namespace {

using testing::HasSubstr;

// What is wrong with a document of one device; empty: nothing.
std::string Wrong(const std::string& version, const std::string& edits,
                  const std::string& more = "", const std::string& kind = "a.com/gpu",
                  const std::string& name = "x") {
  const auto spec = ParseCdi(R"({"cdiVersion": ")" + version + R"(", "kind": ")" + kind +
                             R"(", "devices": [{"name": ")" + name + R"(", "containerEdits": )" +
                             edits + "}]" + more + "}");
  EXPECT_TRUE(spec.has_value()) << spec.error().message;
  const Status checked = CheckCdi(*spec);
  return checked ? "" : checked.error().message;
}

constexpr char kEnv[] = R"({"env": ["A=1"]})";

TEST(CdiRules, TheVersionHasWhatIsUsed) {
  for (const char* version : {"0.3.0", "0.5.0", "v0.6.0", "1.0.0", "1.1.0"}) {
    EXPECT_EQ(Wrong(version, kEnv), "") << version;
  }
  for (const char* version : {"", "0.5", "0.9.0", "2.0.0", "x"}) {
    EXPECT_THAT(Wrong(version, kEnv), HasSubstr("is no version")) << version;
  }
  struct Case {
    std::string before;
    std::string from;
    std::string edits;
    std::string more = "";
    std::string kind = "a.com/gpu";
    std::string name = "x";
  };
  const std::vector<Case> cases = {
      {"0.3.0", "0.4.0",
       R"({"mounts": [{"hostPath": "/a", "containerPath": "/b", "type": "bind"}]})"},
      {"0.4.0", "0.5.0", R"({"deviceNodes": [{"path": "/dev/a", "hostPath": "/dev/b"}]})"},
      {"0.4.0", "0.5.0", kEnv, "", "a.com/gpu", "0"},
      {"0.5.0", "0.6.0", kEnv, R"(, "annotations": {"a": "b"})"},
      {"0.5.0", "0.6.0", kEnv, "", "a.com/gpu.x"},
      {"0.6.0", "0.7.0", R"({"additionalGids": [44]})"},
      {"0.6.0", "0.7.0", R"({"intelRdt": {"closID": "x"}})"},
      {"1.0.0", "1.1.0", R"({"intelRdt": {"closID": "x", "schemata": ["a"]}})"},
      {"1.0.0", "1.1.0", R"({"intelRdt": {"closID": "x", "enableMonitoring": true}})"},
      {"1.0.0", "1.1.0", R"({"netDevices": [{"hostInterfaceName": "a", "name": "b"}]})"},
      {"0.6.0", "0.7.0", kEnv, R"(, "containerEdits": {"additionalGids": [1]})"},
  };
  for (const Case& each : cases) {
    const auto wrong = [&](const std::string& version) {
      return Wrong(version, each.edits, each.more, each.kind, each.name);
    };
    EXPECT_THAT(wrong(each.before), HasSubstr(each.from + " has")) << each.edits << each.more;
    EXPECT_EQ(wrong(each.from), "") << each.edits << each.more;
  }
}

TEST(CdiRules, WhatTheLibraryTakes) {
  EXPECT_THAT(Wrong("0.5.0", "{}"), HasSubstr("device x has no containerEdits"));
  EXPECT_THAT(Wrong("0.5.0", R"({"env": ["A"]})"), HasSubstr("env A is not"));
  EXPECT_THAT(Wrong("0.5.0", R"({"env": ["=1"]})"), HasSubstr("env =1 is not"));
  EXPECT_EQ(Wrong("0.5.0", R"({"env": ["A="]})"), "");
  EXPECT_THAT(Wrong("0.5.0", R"({"deviceNodes": [{"path": "/a", "type": "char"}]})"),
              HasSubstr("type char of device node /a"));
  EXPECT_EQ(Wrong("0.5.0", R"({"deviceNodes": [{"path": "/a", "type": "c"}]})"), "");
  EXPECT_THAT(Wrong("0.5.0", R"({"deviceNodes": [{"path": "/a", "permissions": "rx"}]})"),
              HasSubstr("permissions rx"));
  EXPECT_THAT(Wrong("0.5.0", R"({"hooks": [{"hookName": "before", "path": "/h"}]})"),
              HasSubstr("hookName before"));
  EXPECT_THAT(
      Wrong("0.5.0", R"({"hooks": [{"hookName": "poststop", "path": "/h", "env": ["x"]}]})"),
      HasSubstr("env x"));
  EXPECT_THAT(Wrong("0.5.0", kEnv, R"(, "containerEdits": {"env": ["A"]})"), HasSubstr("env A"));
  const auto checked = [](const std::string& text) { return CheckCdi(*ParseCdi(text)); };
  EXPECT_THAT(checked(R"({"cdiVersion": "0.5.0", "kind": "a/b"})").error().message,
              HasSubstr("devices has none"));
  EXPECT_THAT(checked(R"({"cdiVersion": "0.5.0", "kind": "a/b", "devices": [
                {"name": "x", "containerEdits": {"env": ["A=1"]}},
                {"name": "x", "containerEdits": {"env": ["A=2"]}}]})")
                  .error()
                  .message,
              HasSubstr("device x is there twice"));
}

}  // namespace
}  // namespace gantry::container
