// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/own_nodes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_folder.h"
#include "operands/metrics_exporter/document_nodes.h"

namespace gantry::metrics_exporter {
namespace {

TEST(OutdatedNode, IsOneThatANewContainerWouldGet) {
  const dev_t gpu = makedev(195, 0);
  const dev_t caps = makedev(236, 2);
  EXPECT_EQ(OutdatedNode({}), "");
  EXPECT_EQ(OutdatedNode({{"/dev/nvidia0", gpu, gpu}}), "");
  EXPECT_EQ(OutdatedNode({{"/dev/nvidia0", gpu, gpu}, {"/dev/nvidia1", makedev(195, 1), {}}}),
            "/dev/nvidia1")
      << "a GPU that came later";
  EXPECT_EQ(OutdatedNode({{"/dev/nvidia-caps/nvidia-cap2", makedev(237, 2), caps}}),
            "/dev/nvidia-caps/nvidia-cap2")
      << "a driver that was loaded again";
}

TEST(OutdatedNode, IsNoneWhileTheDriverIsNotLoaded) {
  EXPECT_EQ(OutdatedNode({{"/dev/nvidia0", {}, makedev(195, 0)}, {"/dev/nvidia1", {}, {}}}), "");
}

TEST(NodesInDocument, AreThoseOfTheDeviceAll) {
  const TempFolder temporary;
  const std::string& root = temporary.path();
  std::filesystem::create_directories(root + "/run/cdi");
  std::filesystem::create_directories(root + "/var");
  std::filesystem::create_directories(root + "/dev");
  // As on a host: absolute, so that it leads out of the mount.
  std::filesystem::create_directory_symlink("/run", root + "/var/run");
  const std::string document = ManagementDocument(root);
  EXPECT_EQ(document, root + "/run/cdi/management.nvidia.com-gpu.yaml");
  EXPECT_EQ(NodesInDocument(document, root).error().kind, ErrorKind::kNotFound);

  ASSERT_EQ(mknod((root + "/dev/zero").c_str(), S_IFCHR | 0666U, makedev(1, 5)), 0);
  ASSERT_EQ(mknod((root + "/dev/null").c_str(), S_IFCHR | 0666U, makedev(1, 7)), 0);
  std::ofstream(root + "/dev/full") << "no device";
  std::ofstream(document) << R"({"cdiVersion": "0.5.0", "kind": "management.nvidia.com/gpu",
      "devices": [{"name": "all", "containerEdits": {"deviceNodes": [{"path": "/dev/zero"},
      {"path": "/dev/null"}, {"path": "/dev/full"}, {"path": "/dev/here", "hostPath": "/dev/zero"},
      {"path": "/dev/nvidia-uvm"}]}},
      {"name": "kernel-log", "containerEdits": {"deviceNodes": [{"path": "/dev/kmsg"}]}}]})";
  const auto nodes = NodesInDocument(document, root);
  ASSERT_TRUE(nodes) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 4U);
  EXPECT_EQ(nodes->at(0).host, makedev(1, 5));
  EXPECT_EQ(nodes->at(0).own, makedev(1, 5));
  EXPECT_EQ(nodes->at(1).host, makedev(1, 7));
  EXPECT_EQ(nodes->at(1).own, makedev(1, 3));
  EXPECT_FALSE(nodes->at(2).host);
  EXPECT_EQ(nodes->at(3).host, makedev(1, 5));
  EXPECT_FALSE(nodes->at(3).own);
  EXPECT_EQ(OutdatedNode(*nodes), "/dev/null");
}

}  // namespace
}  // namespace gantry::metrics_exporter
