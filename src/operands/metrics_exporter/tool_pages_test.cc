// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/tool_pages.h"

#include <gtest/gtest.h>

#include "gpu/testing/gpus.h"
#include "operands/metrics_exporter/live_values.h"

namespace gantry::metrics_exporter {
namespace {

Json Parsed(std::string_view text) { return ParseJson(text).value_or(Json()); }

class ToolPages : public testing::Test {
 protected:
  ToolPages() {
    auto gpus = gpu::Gpus(2);
    gpu::AddMig(gpus[1], {"3g.20gb", "1g.5gb"});
    measured_ = {{gpus[0], {{.values = {40.0, 55.5, nvml::Value("text"), std::nullopt}}}},
                 {gpus[1],
                  {{.values = {41.0, std::nullopt, std::nullopt, std::nullopt}},
                   {.gpu_instance = 2,
                    .profile = "1g.5gb",
                    .values = {std::nullopt, std::nullopt, std::nullopt, std::nullopt}}},
                  true}};
  }

  std::vector<MeasuredGpu> measured_;
  EventLog events_{{}};
};

TEST_F(ToolPages, Devices) {
  EXPECT_EQ(DevicesJson({measured_[0].gpu, measured_[1].gpu}), Parsed(R"({"gpus": [
      {"index": 0, "name": "Tesla T4", "uuid": "GPU-0", "bus_id": "00000000:00:00.0", "instances": []},
      {"index": 1, "name": "Tesla T4", "uuid": "GPU-1", "bus_id": "00000000:01:00.0", "instances": [
          {"id": 8, "profile": "3g.20gb"}, {"id": 9, "profile": "1g.5gb"}]}]})"));
}

TEST_F(ToolPages, ValuesOfGpusAndInstances) {
  const auto counters = CountersOfIds("150,155,53,230");
  ASSERT_TRUE(counters.has_value());
  events_.AddXid("GPU-1", 43, 2, SteadyTime());
  EXPECT_EQ(ValuesJson(*counters, measured_, events_, SteadyTime()), Parsed(R"({"fields": [
      {"name": "DCGM_FI_DEV_GPU_TEMP_CELSIUS", "whole": true},
      {"name": "DCGM_FI_DEV_BOARD_POWER_WATTS", "whole": false},
      {"name": "DCGM_FI_DEV_BOARD_SERIAL", "whole": true},
      {"name": "DCGM_FI_DEV_XID_ERROR", "whole": true}], "rows": [
      {"entity": "GPU", "id": 0, "gpu": 0, "values": [40.0, 55.5, "text", 0.0]},
      {"entity": "GPU", "id": 1, "gpu": 1, "values": [41.0, null, null, 43.0]},
      {"entity": "GPU-I", "id": 9, "gpu": 1, "values": [null, null, null, 43.0]}]})"));
}

TEST_F(ToolPages, HealthOfGpus) {
  events_.Look("GPU-0", {.health = HealthReadings{.remap_failed = 1}}, SteadyTime());
  const gpu::FailedGpu failed{.index = 5, .uuid = "", .reason = "GPU_IS_LOST"};
  const Json health = HealthJson(measured_, {failed}, events_, SteadyTime());
  ASSERT_EQ(health["gpus"].size(), 3U);
  EXPECT_EQ(health["gpus"][0]["watches"].size(), kWatches);
  EXPECT_EQ(health["gpus"][0]["watches"][4],
            Parsed(R"({"watch": "MEM", "verdict": 20.0, "code": "DCGM_FR_ROW_REMAP_FAILURE"})"));
  EXPECT_EQ(health["gpus"][0]["lost"], false);
  EXPECT_EQ(health["gpus"][1], Parsed(R"({"index": 1, "lost": true, "watches": []})"));
  EXPECT_EQ(health["gpus"][2], Parsed(R"({"index": 5, "lost": true, "watches": []})"));
}

}  // namespace
}  // namespace gantry::metrics_exporter
