// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gpu/testing/gpus.h"
#include "operands/metrics_exporter/label_sets.h"

namespace gantry::metrics_exporter {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two metrics and the driver's version, of a whole GPU and of one in two instances.
class Series : public testing::Test {
 protected:
  Series() {
    counters_ = *ParseCounters(
        "DCGM_FI_DEV_GPU_TEMP, gauge, Temperature \\ of\n"
        "DCGM_FI_DEV_FB_USED, counter,\n"
        "DCGM_FI_DEV_XID_ERRORS, gauge, Last XID\n"
        "DCGM_FI_DRIVER_VERSION, label, Driver\n");
    auto gpus = gpu::Gpus(2);
    gpus[1].mig_enabled = true;
    // By name: FB_USED, GPU_TEMP, XID_ERRORS, and the label.
    gpus_ = {{gpus[0], {Part({}, 1024.0, 40.5)}},
             {gpus[1], {Part({}, {}, 50.0), Part(1, 5.0, {}), Part(2, 6.0, {})}}};
    how_.node = "n1";
  }

  static Measured Part(std::optional<unsigned> instance, std::optional<nvml::Value> used,
                       std::optional<nvml::Value> temperature) {
    return {.gpu_instance = instance,
            .profile = instance ? "1g.5gb" : "",
            .values = {used, temperature, std::nullopt, nvml::Value("535.1")}};
  }

  Printed Print() { return MetricsText(counters_, gpus_, events_, users_, how_, SteadyTime()); }

  Counters counters_;
  std::vector<MeasuredGpu> gpus_;
  EventLog events_{{}};
  Users users_;
  Labelling how_;
};

TEST_F(Series, LabelsAndOrderAreDcgmExporters) {
  const std::string whole =
      "gpu=\"0\",UUID=\"GPU-0\",pci_bus_id=\"00000000:00:00.0\",device=\"nvidia10\","
      "modelName=\"Tesla T4\",Hostname=\"n1\",DCGM_FI_DRIVER_VERSION=\"535.1\"";
  const auto divided = [](const std::string& instance) {
    return "gpu=\"1\",UUID=\"GPU-1\",pci_bus_id=\"00000000:01:00.0\",device=\"nvidia11\","
           "modelName=\"Tesla T4\"," +
           instance + "Hostname=\"n1\",DCGM_FI_DRIVER_VERSION=\"535.1\"";
  };
  const std::string first = divided("GPU_I_PROFILE=\"1g.5gb\",GPU_I_ID=\"1\",");
  const std::string second = divided("GPU_I_PROFILE=\"1g.5gb\",GPU_I_ID=\"2\",");
  const std::string none = ",err_code=\"0\",err_msg=\"No Error\"} 0\n";
  EXPECT_EQ(Print().text,
            "# TYPE DCGM_FI_DEV_FB_USED counter\n"
            "DCGM_FI_DEV_FB_USED{" +
                whole +
                "} 1024\n"
                "DCGM_FI_DEV_FB_USED{" +
                first +
                "} 5\n"
                "DCGM_FI_DEV_FB_USED{" +
                second +
                "} 6\n"
                "# HELP DCGM_FI_DEV_GPU_TEMP Temperature \\\\ of\n"
                "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"
                "DCGM_FI_DEV_GPU_TEMP{" +
                whole +
                "} 40.5\n"
                "DCGM_FI_DEV_GPU_TEMP{" +
                divided("") +
                "} 50\n"
                "# HELP DCGM_FI_DEV_XID_ERRORS Last XID\n"
                "# TYPE DCGM_FI_DEV_XID_ERRORS gauge\n"
                "DCGM_FI_DEV_XID_ERRORS{" +
                whole + none + "DCGM_FI_DEV_XID_ERRORS{" + first + none +
                "DCGM_FI_DEV_XID_ERRORS{" + second + none);
}

TEST_F(Series, PodsStandBehindTheOtherLabels) {
  users_.holders[{"GPU-0"}] = {{"team", "job", "main", ""}};
  users_.holders[{"GPU-1", 2}] = {{"team", "other", "side", ""}};
  const std::string text = Print().text;
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DRIVER_VERSION=\"535.1\",container=\"main\","
                              "namespace=\"team\",pod=\"job\"} 1024\n"));
  EXPECT_THAT(text, HasSubstr("container=\"main\",err_code=\"0\",err_msg=\"No Error\","
                              "namespace=\"team\",pod=\"job\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("pod=\"other\"} 6\n"));
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DRIVER_VERSION=\"535.1\"} 5\n")) << "nobody's instance";
}

TEST_F(Series, OldNamesAreThoseOf1x) {
  users_.holders[{"GPU-0"}] = {{"team", "job", "main", ""}};
  how_.old_names = true;
  const std::string text = Print().text;
  EXPECT_THAT(text, HasSubstr("uuid=\"GPU-0\""));
  EXPECT_THAT(text,
              HasSubstr("container_name=\"main\",pod_name=\"job\",pod_namespace=\"team\"} 1024\n"));
  EXPECT_THAT(text, Not(HasSubstr("UUID=")));
}

TEST_F(Series, ASharedGpuHasItsLastHolderOrEachOfThem) {
  users_.holders[{"GPU-0"}] = {{"team", "a", "c", "0"}, {"team", "b", "c", "1"}};
  EXPECT_THAT(Print().text, Not(HasSubstr("pod=\"a\"")));
  EXPECT_THAT(Print().text, HasSubstr("pod=\"b\"} 1024\n"));
  how_.every_holder = true;
  const std::string text = Print().text;
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DRIVER_VERSION=\"535.1\"} 1024\n")) << "the device's own";
  EXPECT_THAT(text, HasSubstr("pod=\"a\",vgpu=\"0\"} 1024\n"));
  EXPECT_THAT(text, HasSubstr("pod=\"b\",vgpu=\"1\"} 1024\n"));
}

TEST_F(Series, OfAGpuWithProcessesIsDividedAmongItsPods) {
  users_.holders[{"GPU-0"}] = {
      {.ns = "team", .pod = "a", .container = "c", .replica = "0", .uid = "u1"},
      {.ns = "team", .pod = "b", .container = "c", .replica = "1", .uid = "u2"}};
  how_.every_holder = true;
  gpus_[0].parts[0].uses = Uses{.pods = {{"u1", {.memory = 24 << 20}}}};
  const std::string text = Print().text;
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DRIVER_VERSION=\"535.1\"} 1024\n")) << "the device's own";
  EXPECT_THAT(text, HasSubstr("pod=\"a\",vgpu=\"0\"} 24\n"));
  EXPECT_THAT(text, HasSubstr("pod=\"b\",vgpu=\"1\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DRIVER_VERSION=\"535.1\",share=\"other\"} 1000\n"));
  EXPECT_THAT(text, Not(HasSubstr("share=\"rest\""))) << "memory is used or free";
  EXPECT_THAT(text, HasSubstr("pod=\"b\",vgpu=\"1\"} 40.5\n")) << "a temperature is all of it";
}

TEST_F(Series, PodLabelsStandBeforeTheAttributes) {
  users_.holders[{"GPU-0"}] = {{.ns = "team",
                                .pod = "a",
                                .container = "c",
                                .labels = {{"app", "x"}},
                                .attributes = {{"pod_uid", "u1"}}}};
  EXPECT_THAT(Print().text, HasSubstr("DCGM_FI_DRIVER_VERSION=\"535.1\",app=\"x\",container=\"c\","
                                      "namespace=\"team\",pod=\"a\",pod_uid=\"u1\"} 1024\n"));
}

TEST_F(Series, ComeOnceForEachJob) {
  users_.jobs[{0, std::nullopt}] = {"17", "18"};
  users_.jobs[{1, 2}] = {"19"};
  const std::string text = Print().text;
  EXPECT_THAT(text, HasSubstr("hpc_job=\"17\"} 1024\n"));
  EXPECT_THAT(text, HasSubstr("hpc_job=\"18\"} 1024\n"));
  EXPECT_THAT(text, Not(HasSubstr("535.1\"} 1024\n"))) << "none without its job";
  EXPECT_THAT(text, HasSubstr("hpc_job=\"19\"} 6\n"));
  EXPECT_THAT(text, HasSubstr("535.1\"} 5\n")) << "another instance";
}

TEST_F(Series, TheHostsLabelIsAsAskedFor) {
  struct Row {
    HostLabel host;
    const char* labels;
  };
  for (const Row& row : {Row{HostLabel::kNone, "Tesla T4\",DCGM"},
                         Row{HostLabel::kSmall, "T4\",hostname=\"n1\",DCGM"},
                         Row{HostLabel::kBoth, "T4\",Hostname=\"n1\",hostname=\"n1\",DCGM"}}) {
    how_.host = row.host;
    EXPECT_THAT(Print().text, HasSubstr(row.labels));
  }
}

TEST_F(Series, ALostGpuKeepsTheXidThatMayBeTheReason) {
  gpus_[0].lost = true;
  gpus_[0].parts = {Part({}, {}, {})};
  EXPECT_THAT(Print().text, Not(HasSubstr("gpu=\"0\"")));
  events_.AddXid("GPU-0", 79, {}, SteadyTime());
  EXPECT_THAT(Print().text, HasSubstr("err_code=\"79\""));
  events_.Reset("GPU-0");
  EXPECT_THAT(Print().text, Not(HasSubstr("gpu=\"0\"")));
}

TEST_F(Series, WhatPrometheusRefusesIsDroppedAndCounted) {
  gpus_[0] = {gpus_[0].gpu, {Part({}, -1.0, std::nan(""))}};
  const Printed printed = Print();
  EXPECT_EQ(printed.dropped, 2U) << "a counter below 0, and no number";
  EXPECT_THAT(printed.text, Not(HasSubstr("nan")));
  EXPECT_THAT(printed.text, Not(HasSubstr("} -1")));
}

TEST_F(Series, ValuesOfLabelsAreEscaped) {
  gpus_[0].gpu.name = "a\"b\\c\nd";
  EXPECT_THAT(Print().text, HasSubstr("modelName=\"a\\\"b\\\\c\\nd\""));
  gpus_[0].gpu.name = "NVIDIA A100 80GB";
  how_.replace_blanks = true;
  EXPECT_THAT(Print().text, HasSubstr("modelName=\"NVIDIA-A100-80GB\""));
}

TEST_F(Series, AnInstanceNamesItsOnlyComputeInstance) {
  gpus_[1].parts[1].compute_instance = 0;
  const std::string text = Print().text;
  EXPECT_THAT(text, HasSubstr("GPU_I_PROFILE=\"1g.5gb\",GPU_I_ID=\"1\",GPU_CI_ID=\"0\",Hostname"));
  EXPECT_THAT(text, HasSubstr("GPU_I_ID=\"2\",Hostname")) << "it has several";
}

TEST_F(Series, OfANvLinkHaveItsNumberAndItsGpu) {
  counters_ = *ParseCounters(
      "DCGM_FI_DEV_GPU_TEMP, gauge, t\n"
      "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_PER_LINK_TOTAL, counter, r\n"
      "DCGM_FI_DRIVER_VERSION, label, Driver\n");
  const auto link = [](unsigned number, std::optional<nvml::Value> replays) {
    return Measured{.link = number, .values = {std::nullopt, replays, nvml::Value("535.1")}};
  };
  gpus_ = {{gpus_[0].gpu,
            {{.values = {40.0, std::nullopt, nvml::Value("535.1")}}, link(0, 3.0), link(1, {})}}};
  users_.holders[{"GPU-0"}] = {{"team", "job", "main", ""}};
  EXPECT_EQ(
      Print().text,
      "# HELP DCGM_FI_DEV_GPU_TEMP t\n"
      "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"
      "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-0\",pci_bus_id=\"00000000:00:00.0\","
      "device=\"nvidia10\",modelName=\"Tesla T4\",Hostname=\"n1\","
      "DCGM_FI_DRIVER_VERSION=\"535.1\",container=\"main\",namespace=\"team\",pod=\"job\"} 40\n"
      "# HELP DCGM_FI_DEV_NVLINK_REPLAY_ERROR_PER_LINK_TOTAL r\n"
      "# TYPE DCGM_FI_DEV_NVLINK_REPLAY_ERROR_PER_LINK_TOTAL counter\n"
      "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_PER_LINK_TOTAL{nvlink=\"1\",gpu=\"0\","
      "gpu_uuid=\"GPU-0\",pci_bus_id=\"00000000:00:00.0\",device=\"nvidia10\","
      "model_name=\"Tesla T4\",Hostname=\"n1\",DCGM_FI_DRIVER_VERSION=\"535.1\","
      "container=\"main\",namespace=\"team\",pod=\"job\"} 3\n");
}

TEST_F(Series, AFamilyWithoutSamplesIsNotPrinted) {
  gpus_.clear();
  EXPECT_EQ(Print().text, "");
}

TEST(BusId, IsNvmls) {
  EXPECT_EQ(NvmlBusId("0000:3b:00.0"), "00000000:3B:00.0");
  EXPECT_EQ(NvmlBusId("10000:0a:1f.0"), "00010000:0A:1F.0");
}

}  // namespace
}  // namespace gantry::metrics_exporter
