// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/paths.h"
#include "base/testing/temp_folder.h"
#include "container/inventory.h"
#include "operands/container_runtime/inject.h"

namespace gantry::container_runtime {

inline constexpr char kLibraries[] = "/usr/lib/x86_64-linux-gnu/";

// A node with two GPUs, the second divided into two MIG devices, as the toolkit describes it.
// Device nodes are /dev/null and similar ones, so that the runtime finds them on the test's
// machine.
inline container::NodeInventory Inventory() {
  container::NodeInventory inventory;
  inventory.driver.cuda_version = "12.2";
  inventory.files.version = "535.1";
  const auto library = [&](const std::string& name, const std::string& soname) {
    const std::string path = kLibraries + name + ".535.1";
    inventory.files.libraries.push_back({path, path, soname});
  };
  library("libcuda.so", "libcuda.so.1");
  library("libnvidia-ml.so", "libnvidia-ml.so.1");
  library("libnvcuvid.so", "libnvcuvid.so.1");
  library("libGLX_nvidia.so", "libGLX_nvidia.so.0");
  inventory.files.programs = {{"/usr/bin/nvidia-smi", "/usr/bin/nvidia-smi"}};
  inventory.files.control_nodes = {"/dev/null"};
  inventory.gpus = {{"GPU-1", 0, 0, "0000:01:00.0", {"/dev/zero"}},
                    {"GPU-2", 1, 1, "0000:02:00.0", {"/dev/zero"}}};
  inventory.gpus[1].mig_enabled = true;
  inventory.gpus[1].mig = {{"MIG-a", 0, {"/dev/full"}}, {"MIG-b", 1, {"/dev/random"}}};
  inventory.kinds = {{"tesla", "8.0"}, {"tesla", "9.0"}};
  return inventory;
}

class ModesTest : public testing::Test {
 protected:
  void SetUp() override {
    // The target of /dev/nvidia<minor>: this machine has none.
    inventory_.driver.host_dev_root = folder_;
    for (const char* node : {"nvidia0", "nvidia1", "null", "zero", "full", "random"}) {
      Node(std::string("/dev/") + node);
    }
    places_.root = folder_;
    places_.inventory = folder_ + "/inventory.json";
    places_.hook = {"/t/nvidia-cdi-hook", true};
    settings_.spec_dirs = {folder_ + "/cdi"};
    settings_.accept_environment = true;
  }

  void Node(const std::string& path) {
    std::filesystem::create_directories(std::filesystem::path(folder_ + path).parent_path());
    if (::mknod((folder_ + path).c_str(), S_IFCHR | 0666, gnu_dev_makedev(1, next_minor_++)) != 0) {
      GTEST_SKIP() << "device nodes cannot be made here";
    }
  }
  void Put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ + path).parent_path());
    std::ofstream(folder_ + path) << text;
  }

  // Starts a container with this environment; the message of an error, or "".
  std::string Start(const std::vector<std::string>& environment, bool privileged = false) {
    std::ofstream(places_.inventory) << container::InventoryText(inventory_);
    Json config = {{"process", {{"env", environment}}}, {"root", {{"path", "rootfs"}}}};
    config["process"]["capabilities"]["bounding"] =
        privileged ? Json{"CAP_SYS_ADMIN"} : Json::array();
    config["annotations"] = annotations_;
    config["hooks"]["prestart"] = {{{"path", "/usr/bin/nvidia-container-runtime-hook"}}};
    std::ofstream(folder_ + "/config.json") << config.dump();
    warnings_.clear();
    const Status done = InjectDevices(folder_, settings_, places_, warnings_);
    config_ = ParseJson(ReadFile(folder_ + "/config.json").value()).value();
    return done ? "" : done.error().message;
  }
  std::vector<std::string> Devices() const { return Texts("linux.devices", "path"); }
  std::vector<std::string> Mounts() const { return Texts("mounts", "destination"); }
  std::vector<std::string> Texts(const char* list, const char* key) const {
    std::vector<std::string> texts;
    const Json* found = At(config_, list);
    for (const Json& entry : found == nullptr ? Json::array() : *found) {
      texts.push_back(TextAt(entry, key));
    }
    return texts;
  }

  unsigned next_minor_ = 3;
  const TempFolder temporary_;
  const std::string folder_ = temporary_.path();
  container::NodeInventory inventory_ = Inventory();
  NodePlaces places_;
  RuntimeConfig settings_;
  std::vector<std::string> warnings_;
  Json annotations_ = Json::object();
  Json config_;
};

}  // namespace gantry::container_runtime
