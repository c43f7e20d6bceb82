// SPDX-License-Identifier: Apache-2.0
#include "kube/config.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/testing/temp_folder.h"
#include "base/text.h"

namespace gantry::kube {
namespace {

class LoadConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    Write("one", "current-context: one\ncontexts: [{name: one, context: {cluster: k}}]");
    Write("two",
          "contexts: [{name: two, context: {cluster: k}}]\n"
          "clusters: [{name: k, cluster: {server: 'https://k'}}]");
  }
  void TearDown() override { unsetenv("KUBECONFIG"); }
  void Write(const char* name, const char* text) const { std::ofstream(folder_ / name) << text; }
  // KUBECONFIG, of names in the folder.
  void Use(const std::vector<std::string>& names) const {
    std::string list;
    for (const std::string& name : names) {
      list += format(":{}", (folder_ / name).string());
    }
    setenv("KUBECONFIG", list.c_str(), 1);
  }

  const TempFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path();
};

TEST_F(LoadConfigTest, AListIsPutTogetherWithoutWhatIsMissing) {
  Use({"missing", "one", "two"});
  EXPECT_EQ(LoadConfig().value().host, "k");
  EXPECT_EQ(LoadConfig("", "two").value().host, "k");
  EXPECT_THAT(LoadConfig("", "three").error().message, testing::HasSubstr("\"three\""));
  EXPECT_EQ(LoadConfig((folder_ / "two").string(), "two").value().host, "k");
}

TEST_F(LoadConfigTest, AMistakeIsNamedWithItsFile) {
  Write("wrong", "a: [");
  Use({"one", "wrong"});
  EXPECT_THAT(LoadConfig().error().message, testing::HasSubstr("wrong: yaml"));
  Use({"missing"});
  EXPECT_EQ(LoadConfig().error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace gantry::kube
