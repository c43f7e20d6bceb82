// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/paths.h"
#include "base/testing/temp_folder.h"
#include "operands/container_runtime/toolkit_cli.h"

namespace gantry::container_runtime {

// A folder in which commands of nvidia-ctk are called.
class CliTest : public testing::Test {
 protected:
  void Put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ + path).parent_path());
    std::ofstream(folder_ + path) << text;
  }
  bool MakeNode(const std::string& path, dev_t number) {
    std::filesystem::create_directories(std::filesystem::path(folder_ + path).parent_path());
    return ::mknod((folder_ + path).c_str(), S_IFCHR | 0666, number) == 0;
  }
  std::string Get(const std::string& path) { return ReadFile(folder_ + path).value_or("(absent)"); }
  CliCall Call(const std::vector<std::string>& words) {
    return {words,
            [this](const std::string& name) {
              const auto found = environment_.find(name);
              return found == environment_.end() ? std::nullopt
                                                 : std::optional<std::string>(found->second);
            },
            true};
  }
  std::string Run(Status (*command)(const CliCall&), const std::vector<std::string>& words) {
    const Status done = command(Call(words));
    return done ? "" : done.error().message;
  }

  const TempFolder temporary_;
  const std::string folder_ = temporary_.path();
  std::map<std::string, std::string> environment_;
};

}  // namespace gantry::container_runtime
