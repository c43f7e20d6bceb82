// SPDX-License-Identifier: Apache-2.0
// What a node's CUDA documents say when its copies are not as they were left.
#include "operands/cuda_toolkit/cuda_toolkit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/paths.h"
#include "base/testing/temp_folder.h"
#include "operands/cuda_toolkit/copy.h"

namespace gantry::cuda_toolkit {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class CudaToolkitTest : public testing::Test {
 protected:
  void SetUp() override {
    Put(Document(), R"({"devices": [{"name": "12.4"}]})");
    fs::create_directories(folder_ + "/proc");
  }

  static void Put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
  }
  // A link, and the copy that it leads to unless that is gone.
  void Link(const std::string& release, bool whole) const {
    const std::string name = release + ".1-abc";
    if (whole) {
      Put(JoinPath(CopiesDir(Root()), name) + "/lib64/libcudart.so.12", "");
    }
    fs::create_directories(Root());
    fs::create_symlink("versions/" + name, LinkPath(Root(), release));
  }
  // Until it gives up.
  int Run() const {
    std::vector<std::string> words = {"cuda-toolkit", "--cuda-version=12.4",
                                      "--cuda-root=" + Root(), "--cdi-dir=" + folder_ + "/cdi",
                                      "--proc=" + folder_ + "/proc"};
    std::vector<char*> argv;
    for (std::string& word : words) {
      argv.push_back(word.data());
    }
    return RunCudaToolkit(static_cast<int>(argv.size()), argv.data());
  }
  std::string Root() const { return folder_ + "/cuda"; }
  std::string Document() const { return folder_ + "/cdi/nvidia.com-cuda.json"; }

  const TempFolder temporary_;
  const std::string folder_ = temporary_.path();
};

TEST_F(CudaToolkitTest, ACopyThatIsGoneIsOfferedToNobody) {
  Link("12.4", false);
  Link("12.2", true);
  Put(folder_ + "/proc/7/mountinfo",
      "36 35 98:0 /var/lib/nvidia/cuda/versions/12.2.1-abc /opt/nvidia/cuda-12.2 ro\n");
  EXPECT_EQ(Run(), 1);
  EXPECT_THAT(*ReadFile(Document()), Not(HasSubstr("12.4")));
  EXPECT_THAT(*ReadFile(Document()), HasSubstr("12.2.1-abc")) << "a container uses it";
}

TEST_F(CudaToolkitTest, WithoutAnyCopyThereIsNoDocument) {
  EXPECT_EQ(Run(), 1);
  EXPECT_FALSE(fs::exists(Document()));
}

}  // namespace
}  // namespace gantry::cuda_toolkit
