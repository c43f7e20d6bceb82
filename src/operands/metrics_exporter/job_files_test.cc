// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/job_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/testing/temp_folder.h"

namespace gantry::metrics_exporter {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(JobFiles, AreNamedByGpuAndInstance) {
  EXPECT_EQ(JobPlaceOf("0"), JobPlace(0, std::nullopt));
  EXPECT_EQ(JobPlaceOf("12"), JobPlace(12, std::nullopt));
  EXPECT_EQ(JobPlaceOf("3.11"), JobPlace(3, 11));
  for (const char* other :
       {"", ".", "3.", ".3", "3.1.2", "-1", "+1", "a", "3a", "3.b", ".3.swp", "99999999999999"}) {
    EXPECT_EQ(JobPlaceOf(other), std::nullopt) << other;
  }
}

TEST(JobFiles, ALineIsAJob) {
  EXPECT_THAT(JobsIn("17\n 18.batch \n\n17\n"), ElementsAre("17", "18.batch"));
  EXPECT_THAT(JobsIn(""), IsEmpty());
}

TEST(JobFiles, OfAFolder) {
  const TempFolder folder;
  for (const auto& [name, text] : {std::pair("0", "17\n18"), std::pair("1.2", "19"),
                                   std::pair("note", "20"), std::pair("2", "")}) {
    std::ofstream(folder.path() + "/" + name) << text;
  }
  EXPECT_THAT(*ReadJobs(folder.path()),
              ElementsAre(Pair(JobPlace(0, std::nullopt), ElementsAre("17", "18")),
                          Pair(JobPlace(1, 2), ElementsAre("19"))));
  EXPECT_THAT(*ReadJobs(folder.path() + "/absent"), IsEmpty());
}

}  // namespace
}  // namespace gantry::metrics_exporter
