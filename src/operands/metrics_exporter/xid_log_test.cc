// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/xid_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/testing/temp_folder.h"

namespace gantry::metrics_exporter {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(XidLine, HasTheGpuAndTheNumber) {
  struct Row {
    const char* line;
    LoggedXid logged;
  };
  for (const Row& row :
       {Row{"4,1234,56789,-;NVRM: Xid (PCI:0000:3B:00): 79, pid=1234, GPU has fallen off the bus.",
            {"0000:3b:00.0", 79}},
        Row{"[ 12.5] NVRM: Xid (0000:03:00): 31, Ch 00000010", {"0000:03:00.0", 31}},
        Row{"NVRM: Xid (PCI:0000:07:00 GPU-I:05): 43, pid=7", {"0000:07:00.0", 43, 5}},
        Row{"NVRM: Xid (PCI:00000001:00:00): 119", {"00000001:00:00.0", 119}}}) {
    EXPECT_EQ(ParseXidLine(row.line), row.logged) << row.line;
  }
}

TEST(XidLine, OthersHaveNone) {
  for (const char* line :
       {"", "NVRM: loading", "NVRM: Xid (", "NVRM: Xid (PCI:0000:3b:00)", "NVRM: Xid (PCI:): 79",
        "NVRM: Xid (PCI:0000:3b:00): x", "NVRM: Xid (PCI:0000:3b:00): 0, none",
        "NVRM: Xid (PCI:0000:3b:00 GPU-I:zz): 43", "NVRM: Xid (PCI:/../x:1): 79",
        "NVRM: Xid (PCI:0000:3b:00): 99999999999999999999, x"}) {
    EXPECT_EQ(ParseXidLine(line), std::nullopt) << line;
  }
}

TEST(XidLog, TellsWhatIsWrittenSinceItWasOpened) {
  const TempFolder folder;
  const std::string path = folder.path() + "/kmsg";
  std::ofstream(path) << "NVRM: Xid (PCI:0000:01:00): 1, before\n";
  auto log = XidLog::Open(path);
  ASSERT_TRUE(log.has_value()) << log.error().message;
  EXPECT_LT(log->fd(), 0);
  EXPECT_THAT(log->Read(), IsEmpty());
  std::ofstream(path, std::ios::app) << "NVRM: Xid (PCI:0000:01:00): 62, a\nNVRM: Xid (PCI:00";
  EXPECT_THAT(log->Read(), ElementsAre(LoggedXid{"0000:01:00.0", 62}));
  std::ofstream(path, std::ios::app) << "00:02:00): 63, b\n";
  EXPECT_THAT(log->Read(), ElementsAre(LoggedXid{"0000:02:00.0", 63}));
  EXPECT_FALSE(XidLog::Open(folder.path() + "/none").has_value());
}

}  // namespace
}  // namespace gantry::metrics_exporter
