// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/dcgmi/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::dcgmi {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Json Parsed(std::string_view text) {
  auto json = ParseJson(text);
  EXPECT_TRUE(json.has_value()) << json.error().message;
  return *std::move(json);
}

TEST(Discovery, IsATableOfGpus) {
  const Json devices = Parsed(
      R"({"gpus":[{"index":0,"name":"Tesla T4","uuid":"GPU-1","bus_id":"00000000:3B:00.0"}]})");
  EXPECT_THAT(
      DiscoveryText(devices),
      StartsWith(
          "1 GPU found.\n"
          "+--------+----------------------------------------------------------------------+\n"
          "| GPU ID | Device Information                                                   |\n"
          "+--------+----------------------------------------------------------------------+\n"
          "| 0      | Name: Tesla T4                                                       |\n"
          "|        | PCI Bus ID: 00000000:3B:00.0                                         |\n"
          "|        | Device UUID: GPU-1                                                   |\n"
          "+--------+----------------------------------------------------------------------+\n"
          "0 NvSwitches found.\n"));
  EXPECT_THAT(DiscoveryText(Parsed("{}")), StartsWith("0 GPUs found.\n"));
}

TEST(Dmon, ARowForEachGpuAndInstance) {
  const Json values = Parsed(R"({"fields":[{"whole":true},{"whole":false},{"whole":false}],
      "rows":[{"entity":"GPU","id":0,"gpu":0,"values":[40,55.25,"text"]},
              {"entity":"GPU","id":1,"gpu":1,"values":[41,null,null]},
              {"entity":"GPU-I","id":8,"gpu":1,"values":[null,0.5,null]}]})");
  EXPECT_EQ(DmonRows(values, {}),
            "GPU 0     40            55.250        text          \n"
            "GPU 1     41            N/A           N/A           \n"
            "GPU-I 8   N/A           0.500         N/A           \n");
  EXPECT_EQ(DmonRows(values, {0}), "GPU 0     40            55.250        text          \n");
  EXPECT_EQ(DmonRows(values, {7}), "");
  EXPECT_EQ(DmonHeader("150,155,53"),
            "#Entity   TMPTR         POWER         DEV_BOARD_SE  \n"
            "ID        C             W                           \n");
}

TEST(Dmon, ListsWhatItCanPrint) {
  EXPECT_THAT(FieldsText(), AllOf(HasSubstr("DCGM_FI_DEV_GPU_TEMP_CELSIUS"), HasSubstr("TMPTR"),
                                  HasSubstr("150\n"), Not(HasSubstr("PER_LINK"))));
}

TEST(Health, HealthyGpusAreNotNamed) {
  const Json health = Parsed(
      R"({"gpus":[{"index":0,"lost":false,"watches":[{"watch":"MEM","verdict":0.0,"code":"DCGM_FR_OK"}]}]})");
  const std::string text = HealthText(health);
  EXPECT_THAT(text, HasSubstr("| Overall Health            | Healthy"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("GPU")), Not(HasSubstr("Fail"))));
  EXPECT_THAT(HealthJsonText(health), AllOf(HasSubstr("\"Healthy\""), Not(HasSubstr("children"))));
}

TEST(Health, NamesEachWatchThatFails) {
  const Json health = Parsed(R"({"gpus":[
      {"index":0,"lost":false,"watches":[{"watch":"MEM","verdict":20.0,"code":"DCGM_FR_VOLATILE_DBE_DETECTED"},
                                         {"watch":"PCIE","verdict":10.0,"code":"DCGM_FR_PCI_REPLAY_RATE"}]},
      {"index":1,"lost":false,"watches":[{"watch":"SM","verdict":0.0,"code":"DCGM_FR_OK"}]},
      {"index":2,"lost":true,"watches":[]}]})");
  const std::string text = HealthText(health);
  EXPECT_THAT(text, HasSubstr("| Overall Health            | Failure"));
  EXPECT_THAT(text, HasSubstr("| -> 0                      | Failure"));
  EXPECT_THAT(text, HasSubstr("|       -> Memory system    | Failure"));
  EXPECT_THAT(text, HasSubstr("DCGM_FR_VOLATILE_DBE_DETECTED"));
  EXPECT_THAT(text, HasSubstr("|       -> PCIe system      | Warning"));
  EXPECT_THAT(text, HasSubstr("| -> 2                      | Failure"));
  EXPECT_THAT(text, HasSubstr("the GPU does not answer"));
  EXPECT_THAT(text, Not(HasSubstr("-> 1 ")));
  const Json report = Parsed(HealthJsonText(health));
  EXPECT_EQ(TextAt(report, "body.GPU.children.0.children.Errors.children.Memory system.value"),
            "Failure");
}

TEST(Health, EverythingIsWatched) {
  EXPECT_THAT(WatchesText(), HasSubstr("| Memory           | On"));
}

}  // namespace
}  // namespace gantry::dcgmi
