// SPDX-License-Identifier: Apache-2.0
// Whose driver is taken when one is named, on a host that has others.
#include "operands/container_toolkit/driver_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/testing/temp_folder.h"

namespace gantry::container_toolkit {
namespace {

namespace fs = std::filesystem;
using testing::Contains;

class DriverChoiceTest : public testing::Test {
 protected:
  void SetUp() override {
    places_.host_root = root_;
    for (const char* node : {"nvidiactl", "nvidia-uvm", "nvidia0"}) {
      fs::create_directories(root_ + "/dev");
      if (::mknod((root_ + "/dev/" + node).c_str(), S_IFCHR | 0666, gnu_dev_makedev(1, 3)) != 0) {
        GTEST_SKIP() << "device nodes cannot be made here";
      }
    }
    Driver("");
  }

  void Driver(const std::string& folder) {
    fs::create_directories(root_ + folder + "/usr/lib64");
    std::ofstream(root_ + folder + "/usr/lib64/libnvidia-ml.so.1") << "elf";
  }
  [[nodiscard]] std::string Root() const { return ChooseDriver(flags_, places_).driver_root; }

  const TempFolder temporary_;
  const std::string root_ = temporary_.path();
  Flags flags_;
  host::DriverPlaces places_;
};

TEST_F(DriverChoiceTest, TheOneThatIsNamedStandsBeforeTheHosts) {
  Driver("/opt/driver");
  EXPECT_EQ(Root(), "/");
  flags_.driver_root = "/opt/driver";
  EXPECT_EQ(Root(), "/opt/driver");
  EXPECT_THAT(DriverPathsToWatch(flags_, places_),
              Contains(root_ + "/opt/driver/usr/lib64/libnvidia-ml.so.1"));
  flags_.driver_root = "/";
  EXPECT_EQ(Root(), "/");
}

TEST_F(DriverChoiceTest, WhereNoneIsTheUsualOrderCounts) {
  flags_.driver_root = "/opt/driver";
  EXPECT_EQ(Root(), "/");
}

TEST_F(DriverChoiceTest, ADriverContainersMustBeComplete) {
  Driver("/run/nvidia/driver");
  flags_.driver_root = "/run/nvidia/driver";
  EXPECT_EQ(Root(), "/");
  places_.container_ready = true;
  EXPECT_EQ(Root(), "/run/nvidia/driver");
}

TEST_F(DriverChoiceTest, ADeviceRootThatIsNamedStandsInThePlaceOfTheDrivers) {
  EXPECT_EQ(ChooseDriver(flags_, places_).dev_root, "/");
  flags_.dev_root = "/run/nvidia/dev-root";
  EXPECT_EQ(ChooseDriver(flags_, places_).dev_root, "/run/nvidia/dev-root");
}

}  // namespace
}  // namespace gantry::container_toolkit
