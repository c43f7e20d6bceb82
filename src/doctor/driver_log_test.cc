// SPDX-License-Identifier: Apache-2.0
#include "doctor/driver_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/text.h"
#include "doctor/testing/containers.h"

namespace gantry::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

using DriverLog = ContainerTest;

// A row each of tests/golden/driver_logs; tests run in the repository's root.
TEST_F(DriverLog, OfEachRow) {
  std::ifstream file("tests/golden/driver_logs/cases.txt");
  int rows = 0;
  for (std::string row; std::getline(file, row);) {
    if (row.empty() || row.starts_with('#')) {
      continue;
    }
    ++rows;
    const std::string code = row.substr(0, row.find(' '));
    std::string log(Trim(std::string_view(row).substr(code.size())));
    for (size_t at = log.find("\\n"); at != std::string::npos; at = log.find("\\n")) {
      log.replace(at, 2, "\n");
    }
    EXPECT_THAT(Operand({Crashing(kDriverApp, log.c_str())}),
                ElementsAre(Field(&Finding::code, code)))
        << row;
    // The words of a driver mean nothing in another container's log.
    EXPECT_THAT(Operand({Crashing(kPluginApp, log.c_str())}),
                ElementsAre(Field(&Finding::code, "OperandCrashing")))
        << row;
  }
  EXPECT_GT(rows, 50);
}

}  // namespace
}  // namespace gantry::doctor
