// SPDX-License-Identifier: Apache-2.0
// Every field of a CDI document is read, kept and written, in JSON and in the YAML of others.
#include "container/cdi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "container/yaml_text.h"

namespace gantry::container {
namespace {

using testing::HasSubstr;

constexpr char kEveryField[] = R"({
  "cdiVersion": "1.1.0", "kind": "a.com/gpu.x", "annotations": {"k": "v"},
  "containerEdits": {"env": ["A=1"]},
  "devices": [{"name": "0", "annotations": {"gpu.nvidia.com/coherent": "true"},
    "containerEdits": {
      "env": ["B=2"],
      "deviceNodes": [{"path": "/dev/a", "hostPath": "/dev/b", "type": "c", "major": 195, "minor": 255,
                       "fileMode": 438, "permissions": "rw", "uid": 1, "gid": 44}],
      "mounts": [{"hostPath": "/h", "containerPath": "/c", "options": ["ro"], "type": "tmpfs"}],
      "hooks": [{"hookName": "createContainer", "path": "/p", "args": ["p", "x"], "env": ["C=3"], "timeout": 5}],
      "additionalGids": [44, 109],
      "intelRdt": {"closID": "x", "enableCMT": true},
      "netDevices": [{"hostInterfaceName": "eth1", "name": "eth0"}]}}]})";

TEST(CdiFields, NoneIsLost) {
  const auto spec = ParseCdi(kEveryField);
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(CdiJson(*spec), ParseJson(kEveryField).value());
  const auto from_yaml = ParseCdi(CdiYaml(*spec));
  ASSERT_TRUE(from_yaml.has_value()) << from_yaml.error().message << CdiYaml(*spec);
  EXPECT_EQ(CdiJson(*from_yaml), CdiJson(*spec));
}

TEST(CdiFields, WrittenAsTheOldestVersionThatHasThem) {
  CdiSpec spec{"a.com/gpu", {{"0", {}}}, {}};
  const auto version = [&] { return CdiJson(spec)["cdiVersion"].get<std::string>(); };
  EXPECT_EQ(version(), "0.5.0");
  spec.devices[0].annotations["k"] = "v";
  EXPECT_EQ(version(), "0.6.0");
  spec.devices[0].edits.additional_gids = {44};
  EXPECT_EQ(version(), "0.7.0");
  spec.edits.net_devices = "[]";
  EXPECT_EQ(version(), "1.1.0");
}

TEST(CdiFields, WrongTypesAreNamed) {
  const auto edits = [](const std::string& text) {
    return ParseCdi(R"({"kind": "a/b", "containerEdits": )" + text + "}").error().message;
  };
  EXPECT_THAT(edits(R"({"additionalGids": ["x"]})"), HasSubstr("additionalGids"));
  EXPECT_THAT(edits(R"({"deviceNodes": [{"path": "/a", "major": "1"}]})"), HasSubstr("major"));
  EXPECT_THAT(edits(R"({"deviceNodes": [{"path": "/a", "uid": -1}]})"), HasSubstr("uid"));
  EXPECT_THAT(edits(R"({"annotations": {}})"), HasSubstr("annotations"));
  EXPECT_THAT(ParseCdi(R"({"kind": "a/b/x y"})").error().message, HasSubstr("a/b/x y"));
  EXPECT_THAT(ParseCdi(R"({"kind": "a/b", "devices": [{"name": "0 1"}]})").error().message,
              HasSubstr("devices.name 0 1"));
  EXPECT_THAT(ParseCdi(R"({"kind": "a/b", "annotations": {"k": 1}})").error().message,
              HasSubstr("annotations.k"));
}

// As nvidia-ctk 1.17 writes /var/run/cdi/nvidia.yaml.
TEST(CdiYaml, OfNvidiasOwnTool) {
  const auto spec = ParseCdi(R"(---
cdiVersion: 0.5.0
containerEdits:
  deviceNodes:
  - path: /dev/nvidiactl
  env:
  - NVIDIA_VISIBLE_DEVICES=void
  hooks:
  - args:
    - nvidia-cdi-hook
    - create-symlinks
    - --link
    - ../libnvidia-allocator.so.1::/usr/lib/x86_64-linux-gnu/gbm/nvidia-drm_gbm.so
    hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
devices:
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
  name: "0"
- containerEdits: {}
  name: all
kind: nvidia.com/gpu
)");
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(spec->kind, "nvidia.com/gpu");
  ASSERT_EQ(spec->devices.size(), 2U);
  EXPECT_EQ(spec->devices[0].name, "0");
  EXPECT_EQ(spec->edits.hooks.at(0).args.back(),
            "../libnvidia-allocator.so.1::/usr/lib/x86_64-linux-gnu/gbm/nvidia-drm_gbm.so");
}

TEST(CdiYaml, WhatCouldBeTakenForSomethingElseIsQuoted) {
  const Json json = {{"a", "0:1"},
                     {"b", "true"},
                     {"c", ""},
                     {"d", "x: y"},
                     {"e", "- x"},
                     {"f", "1.5"},
                     {"g", "null"},
                     {"h", "line\nfeed"},
                     {"i", 12},
                     {"j", false},
                     {"k", nullptr},
                     {"l", Json::array()},
                     {"m", Json::object()},
                     {"n", {1, {{"o", "p"}, {"q", {"r"}}}}}};
  EXPECT_EQ(ParseYaml(YamlText(json)).value(), json) << YamlText(json);
  EXPECT_THAT(YamlText(json), HasSubstr("a: \"0:1\"\n"));
}

TEST(CdiYaml, AKeyMayBeLong) {
  for (const size_t length : {1023U, 1024U, 1025U, 5000U}) {
    const std::string key(length, 'k');
    const Json json = {{"a", {{{"b", 1U}, {key, {1U, 2U}}, {"z", {{key, "x"}}}}}}};
    EXPECT_EQ(ParseYaml(YamlText(json)).value_or(nullptr), json) << length;
  }
}

TEST(CdiYaml, NumbersInEveryNotation) {
  for (const char* number : {"438", "+438", "0666", "0o666", "0x1B6", "0b110110110"}) {
    EXPECT_EQ(ParseYaml(number).value(), Json(438U)) << number;
  }
  EXPECT_EQ(ParseYaml("-0x10").value(), Json(-16));
  EXPECT_EQ(ParseYaml("0").value(), Json(0U));
  EXPECT_EQ(ParseYaml("18446744073709551615").value(), Json(UINT64_MAX));
  for (const char* text :
       {"0888", "0x", "1-2", "0:1", "1.5", "18446744073709551616", "-9223372036854775809"}) {
    EXPECT_EQ(ParseYaml(text).value(), Json(text));
  }
  EXPECT_EQ(ParseYaml("\"0666\"").value(), Json("0666"));
}

TEST(CdiYaml, InBracesItIsNoJson) {
  const auto spec = ParseCdi("{cdiVersion: 0.5.0, kind: a.com/gpu, devices: [{name: \"0\"}]}");
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(spec->kind, "a.com/gpu");
  EXPECT_FALSE(ParseCdi("{").has_value());
}

TEST(CdiYaml, WhatIsTooMuchIsRefused) {
  EXPECT_THAT(ParseYaml("a: [").error().message, HasSubstr("line"));
  std::string deep;
  for (int i = 0; i < 100; ++i) {
    deep += "[";
  }
  EXPECT_FALSE(ParseYaml(deep + std::string(100, ']')).has_value());
  EXPECT_FALSE(ParseYaml(std::string(size_t{5} << 20, ' ')).has_value());
  // Nine lists of nine of the one before: 9^9 texts.
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string alias = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 9; ++j) {
      laughs += (j == 0 ? "" : ", ") + alias;
    }
    laughs += "]\n";
  }
  EXPECT_FALSE(ParseYaml(laughs).has_value());
}

}  // namespace
}  // namespace gantry::container
