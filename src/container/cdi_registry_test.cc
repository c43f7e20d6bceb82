// SPDX-License-Identifier: Apache-2.0
// The devices of a node are those that containerd has: by folder, by file, by rule.
#include "container/cdi_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/testing/temp_folder.h"

namespace gantry::container {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CdiRegistryTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root_ + "/etc");
    fs::create_directories(root_ + "/run");
  }

  // A document of one device, which says where it is from.
  void Put(const std::string& path, const std::string& device = "0",
           const std::string& kind = "a.com/gpu") {
    std::ofstream(root_ + path) << R"({"cdiVersion": "0.5.0", "kind": ")" << kind
                                << R"(", "devices": [{"name": ")" << device
                                << R"(", "containerEdits": {"env": ["FROM=)" << path << R"("]}}]})";
  }
  // Where a device is from, or why it can't be had.
  std::string From(const std::string& device, const std::string& kind = "a.com/gpu") {
    warnings_.clear();
    const CdiRegistry registry = LoadCdi({root_ + "/etc", root_ + "/run"}, {kind}, warnings_);
    const auto edits = ResolveDevice(registry, {kind}, device);
    return edits ? edits->env.at(0) : edits.error().message;
  }

  const TempFolder temporary_;
  const std::string root_ = temporary_.path();
  std::vector<std::string> warnings_;
};

TEST_F(CdiRegistryTest, ALaterFolderCountsMore) {
  Put("/etc/a.json");
  Put("/run/a.json");
  Put("/etc/b.json", "1");
  EXPECT_EQ(From("0"), "FROM=/run/a.json");
  EXPECT_EQ(From("1"), "FROM=/etc/b.json");
  EXPECT_THAT(From("2"), HasSubstr("find device 2"));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(CdiRegistryTest, TwoFilesOfOneFolderWithOneDeviceMakeItUnusable) {
  Put("/run/a.json");
  Put("/run/b.json");
  Put("/run/c.json", "1");
  Put("/run/d.json", "0", "b.com/gpu");
  const auto both = AllOf(HasSubstr("a.com/gpu=0"), HasSubstr(root_ + "/run/a.json"),
                          HasSubstr(root_ + "/run/b.json"));
  EXPECT_THAT(From("0"), both);
  EXPECT_THAT(warnings_, ElementsAre(both));
  EXPECT_EQ(From("1"), "FROM=/run/c.json") << "other devices are what they were";
  EXPECT_EQ(From("0", "b.com/gpu"), "FROM=/run/d.json") << "of another kind";
  fs::remove(root_ + "/run/b.json");
  EXPECT_EQ(From("0"), "FROM=/run/a.json");
}

// The library takes the device away wherever two files of one folder have it.
TEST_F(CdiRegistryTest, AnotherFolderDoesNotMendAConflict) {
  Put("/etc/a.json");
  Put("/etc/b.json");
  Put("/run/a.json");
  EXPECT_THAT(From("0"), HasSubstr("is in two files"));
  fs::remove(root_ + "/etc/b.json");
  EXPECT_EQ(From("0"), "FROM=/run/a.json");
  Put("/run/b.json");
  EXPECT_THAT(From("0"), HasSubstr("is in two files")) << "and the first folder's is not taken";
}

TEST_F(CdiRegistryTest, AFileThatBreaksARuleIsLeftOut) {
  std::ofstream(root_ + "/run/a.json")
      << R"({"cdiVersion": "0.4.0", "kind": "a.com/gpu", "devices": [
             {"name": "0", "containerEdits": {"env": ["FROM=a"]}}]})";
  EXPECT_THAT(From("0"), HasSubstr("no CDI document"));
  EXPECT_THAT(warnings_, ElementsAre(AllOf(HasSubstr("a.json"), HasSubstr("0.5.0"))));
  Put("/run/b.json");
  EXPECT_EQ(From("0"), "FROM=/run/b.json") << "it is in no conflict either";
}

}  // namespace
}  // namespace gantry::container
