// SPDX-License-Identifier: Apache-2.0
#include "operands/device_plugin/kubelet_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubelet/folders.h"
#include "kubelet/plugin_socket.h"

namespace gantry::device_plugin {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(KubeletPlace, Op745_DevicePluginsStayWhereTheyAreWhateverTheRoot) {
  EXPECT_THAT(kubelet::DevicePluginFolders("/var/lib/kubelet"),
              ElementsAre("/var/lib/kubelet/device-plugins"));
  EXPECT_THAT(kubelet::DevicePluginFolders("/data/kubelet/"),
              ElementsAre("/var/lib/kubelet/device-plugins", "/data/kubelet/device-plugins"));
  EXPECT_EQ(kubelet::PodResourcesSocket("/data/kubelet"),
            "/data/kubelet/pod-resources/kubelet.sock");
}

TEST(KubeletPlace, Op745_TheKubeletIsWhereItListens) {
  std::vector<KubeletPlace> places = {{"/a", "/a"}, {"/b", "/b"}};
  EXPECT_EQ(ChoosePlace(places).here, "/a");
  places[1].exists = true;
  EXPECT_EQ(ChoosePlace(places).here, "/b");
  places[0].exists = true;
  EXPECT_EQ(ChoosePlace(places).here, "/a");
  places[1].listens = true;
  EXPECT_EQ(ChoosePlace(places).here, "/b");
  places[0].listens = true;
  EXPECT_EQ(ChoosePlace(places).here, "/a");
}

TEST(KubeletPlace, Op1358_WhereNoneListensIsSaidInTheHostsWords) {
  EXPECT_THAT(NoKubelet({{"/kubelet-host/a", "/a"}, {"/kubelet-host/b", "/b"}}, "kubelet.sock"),
              AllOf(HasSubstr("at /a/kubelet.sock or /b/kubelet.sock"),
                    HasSubstr("hostPaths.kubeletRootDir")));
}

TEST(KubeletPlace, Op745_ASocketThatWasLeftIsNoKubelet) {
  const std::string folder = testing::TempDir();
  EXPECT_FALSE(LookAtPlace(folder, folder, "place.sock").listens);
  EXPECT_TRUE(LookAtPlace(folder, folder, "place.sock").exists);
  EXPECT_FALSE(LookAtPlace(folder + "/nothing", folder, "place.sock").exists);
  auto socket = kubelet::PluginSocket::Listen(folder, "place.sock");
  ASSERT_TRUE(socket.has_value()) << socket.error().message;
  EXPECT_TRUE(LookAtPlace(folder, folder, "place.sock").listens);
}

}  // namespace
}  // namespace gantry::device_plugin
