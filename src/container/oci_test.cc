// SPDX-License-Identifier: Apache-2.0
// What a CDI document says, as it stands in a container's configuration afterwards.
#include "container/oci.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::container {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

Result<DeviceNumbers> LookUp(const std::string& path) {
  if (path == "/dev/absent") {
    return Fail(ErrorKind::kNotFound, "find device node " + path);
  }
  return DeviceNumbers{'c', 195, path == "/dev/nvidiactl" ? 255U : 0U, 0666, 0, 0};
}

// nct#1227: a GPU whose node was let in behind the runtime's back is lost when `systemctl
// daemon-reload` makes systemd write the container's device rules anew. It writes what the
// configuration says, so each node must stand there twice: as a device and as a rule.
TEST(OciDevices, Nct1227_EachNodeSurvivesADaemonReload) {
  CdiEdits edits;
  edits.device_nodes = {{"/dev/nvidiactl", ""}, {"/dev/nvidia0", "/dev/nvidia3"}};
  Json config = {
      {"linux", {{"resources", {{"devices", {{{"allow", false}, {"access", "rwm"}}}}}}}}};
  ASSERT_TRUE(ApplyEdits(edits, LookUp, config).has_value());
  const Json& devices = config["linux"]["devices"];
  const Json& rules = config["linux"]["resources"]["devices"];
  ASSERT_THAT(devices, SizeIs(2));
  for (const Json& device : devices) {
    const Json rule = {{"allow", true},
                       {"type", "c"},
                       {"major", device["major"]},
                       {"minor", device["minor"]},
                       {"access", "rwm"}};
    EXPECT_TRUE(std::ranges::find(rules, rule) != rules.end()) << device.dump();
  }
  EXPECT_EQ(rules[0]["allow"], false) << "what was there goes first: the last rule counts";
}

TEST(OciDevices, TheDocumentsNumbersGoBeforeTheHosts) {
  CdiEdits edits;
  CdiDeviceNode node{"/dev/absent", ""};
  node.type = "c";
  node.major = 511;
  node.minor = 1;
  node.file_mode = 0600;
  node.permissions = "rw";
  node.uid = 7;
  node.gid = 8;
  edits.device_nodes = {node};
  Json config = Json::object();
  ASSERT_TRUE(ApplyEdits(edits, LookUp, config).has_value()) << "the host is not asked";
  EXPECT_EQ(config["linux"]["devices"][0], Json({{"path", "/dev/absent"},
                                                 {"type", "c"},
                                                 {"major", 511},
                                                 {"minor", 1},
                                                 {"fileMode", 0600},
                                                 {"uid", 7},
                                                 {"gid", 8}}));
  EXPECT_EQ(config["linux"]["resources"]["devices"][0]["access"], "rw");
  edits.device_nodes = {{"/dev/absent", ""}};
  EXPECT_FALSE(ApplyEdits(edits, LookUp, config).has_value());
}

TEST(OciDevices, MinorZeroMayBeLeftOut) {
  CdiEdits edits;
  CdiDeviceNode node{"/dev/absent", ""};
  node.type = "c";
  node.major = 195;
  edits.device_nodes = {node};
  Json config = Json::object();
  ASSERT_TRUE(ApplyEdits(edits, LookUp, config).has_value()) << "the host is not asked";
  EXPECT_EQ(config["linux"]["devices"][0]["minor"], 0);
}

TEST(OciDevices, ANodeBelongsToWhoeverStartsTheContainer) {
  const auto lookup = [](const std::string&) -> Result<DeviceNumbers> {
    return DeviceNumbers{'c', 195, 0, 0660, 0, 44};
  };
  CdiEdits edits;
  edits.device_nodes = {{"/dev/nvidia0", ""}};
  const auto owner = [&](const Json& user) {
    Json config = {{"process", {{"user", user}}}};
    EXPECT_TRUE(ApplyEdits(edits, lookup, config).has_value());
    const Json& device = config["linux"]["devices"][0];
    return std::pair(device["uid"].get<int>(), device["gid"].get<int>());
  };
  EXPECT_EQ(owner({{"uid", 1000}, {"gid", 2000}}), std::pair(1000, 2000));
  EXPECT_EQ(owner({{"uid", 0}, {"gid", 0}}), std::pair(0, 44));
  edits.additional_gids = {44};
  EXPECT_EQ(owner({{"uid", 1000}, {"gid", 2000}}), std::pair(1000, 44)) << "that is what it is for";
}

TEST(OciDevices, AFifoHasNoRule) {
  const auto lookup = [](const std::string&) -> Result<DeviceNumbers> {
    return DeviceNumbers{'p', 0, 0, 0600, 0, 0};
  };
  CdiEdits edits;
  edits.device_nodes = {{"/run/fifo", ""}};
  Json config = Json::object();
  ASSERT_TRUE(ApplyEdits(edits, lookup, config).has_value());
  EXPECT_EQ(config["linux"]["devices"][0]["type"], "p");
  EXPECT_FALSE(config["linux"].contains("resources"));
}

TEST(OciMounts, WhatLiesInAFolderComesAfterIt) {
  CdiEdits edits;
  edits.mounts = {{"/h/a", "/usr/lib/x/a.so", {}}, {"/h", "/usr//lib/", {}}};
  Json config = {
      {"mounts",
       {{{"destination", "/proc"}}, {{"destination", "/usr/lib/x"}}, {{"destination", "/"}}}}};
  ASSERT_TRUE(ApplyEdits(edits, LookUp, config).has_value());
  std::vector<std::string> order;
  for (const Json& mount : config["mounts"]) {
    order.push_back(mount["destination"]);
  }
  EXPECT_THAT(order, ElementsAre("/", "/proc", "/usr//lib/", "/usr/lib/x", "/usr/lib/x/a.so"));
}

TEST(OciEdits, EveryOtherField) {
  CdiEdits edits;
  edits.additional_gids = {44, 44};
  edits.intel_rdt = R"({"closID": "x"})";
  edits.net_devices = R"([{"hostInterfaceName": "eth1", "name": "eth0"}])";
  edits.mounts = {{"/h", "/c", {"ro"}, "tmpfs"}};
  CdiHook hook{"createContainer", "/p", {"p"}, {"A=1"}};
  hook.timeout = 5;
  edits.hooks = {hook};
  Json config = {{"process", {{"user", {{"uid", 0}}}}}};
  ASSERT_TRUE(ApplyEdits(edits, LookUp, config).has_value());
  EXPECT_EQ(config["process"]["user"], Json({{"uid", 0}, {"additionalGids", {44}}}));
  EXPECT_EQ(config["linux"]["intelRdt"]["closID"], "x");
  EXPECT_EQ(config["linux"]["netDevices"]["eth1"]["name"], "eth0");
  EXPECT_EQ(config["mounts"][0]["type"], "tmpfs");
  EXPECT_EQ(config["hooks"]["createContainer"][0]["timeout"], 5);
}

TEST(OciHooks, DockersOwnIsTakenOut) {
  Json config = {
      {"hooks",
       {{"prestart",
         {{{"path", "/usr/bin/nvidia-container-runtime-hook"}}, {{"path", "/usr/bin/other"}}}}}}};
  RemoveNvidiaHook(config);
  ASSERT_THAT(config["hooks"]["prestart"], SizeIs(1));
  EXPECT_EQ(config["hooks"]["prestart"][0]["path"], "/usr/bin/other");
  config = {{"hooks", {{"prestart", {{{"path", "/a/nvidia-container-toolkit"}}}}}}};
  RemoveNvidiaHook(config);
  EXPECT_FALSE(config["hooks"].contains("prestart"));
  config = Json::object();
  RemoveNvidiaHook(config);
  EXPECT_TRUE(config.empty());
}

}  // namespace
}  // namespace gantry::container
