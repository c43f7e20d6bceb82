// SPDX-License-Identifier: Apache-2.0
// Performance counters: what two samples say of the time between them.
#include <cmath>

#include "library_test.h"

namespace fakegpu {
namespace {

class GpmTest : public FakeGpuTest {
 protected:
  void SetUp() override {
    FakeGpuTest::SetUp();
    Control([](Machine&, Gpu* gpus) {
      for (u32 i = 0; i < kGpus; ++i) {
        gpus[i].architecture = i == 2 ? NVML_DEVICE_ARCH_AMPERE : NVML_DEVICE_ARCH_HOPPER;
        gpus[i].utilization_gpu = 40;
        gpus[i].utilization_memory = 30;
        gpus[i].gpm_tensor = gpus[i].gpm_dram = gpus[i].gpm_sm = kUnknown32;
        gpus[i].decoders = 1;
        gpus[i].utilization_decoder = 7;
        gpus[i].pcie_sent = 2048;
      }
    });
    ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
    for (nvmlGpmSample_t* sample : {&first_, &second_}) {
      ASSERT_EQ(NVML(nvmlGpmSampleAlloc)(sample), NVML_SUCCESS);
    }
  }

  void TearDown() override {
    for (nvmlGpmSample_t sample : {first_, second_}) {
      EXPECT_EQ(NVML(nvmlGpmSampleFree)(sample), NVML_SUCCESS);
    }
    FakeGpuTest::TearDown();
  }

  void Sample(nvmlDevice_t device, nvmlGpmSample_t into) {
    ASSERT_EQ(NVML(nvmlGpmSampleGet)(device, into), NVML_SUCCESS);
  }

  // One metric between the two samples; NaN if it is not supported.
  double Metric(unsigned id) {
    auto get = std::make_unique<nvmlGpmMetricsGet_t>();
    get->version = NVML_GPM_METRICS_GET_VERSION;
    get->numMetrics = 1;
    get->sample1 = first_;
    get->sample2 = second_;
    get->metrics[0].metricId = id;
    EXPECT_EQ(NVML(nvmlGpmMetricsGet)(get.get()), NVML_SUCCESS);
    return get->metrics[0].nvmlReturn == NVML_SUCCESS ? get->metrics[0].value : NAN;
  }

  nvmlGpmSample_t first_ = nullptr, second_ = nullptr;
};

TEST_F(GpmTest, IsThereSinceHopper) {
  nvmlGpmSupport_t support{};
  EXPECT_EQ(NVML(nvmlGpmQueryDeviceSupport)(Device(0), &support),
            NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  support.version = NVML_GPM_SUPPORT_VERSION;
  ASSERT_EQ(NVML(nvmlGpmQueryDeviceSupport)(Device(0), &support), NVML_SUCCESS);
  EXPECT_EQ(support.isSupportedDevice, 1U);
  ASSERT_EQ(NVML(nvmlGpmQueryDeviceSupport)(Device(2), &support), NVML_SUCCESS);
  EXPECT_EQ(support.isSupportedDevice, 0U);
  EXPECT_EQ(NVML(nvmlGpmSampleGet)(Device(2), first_), NVML_ERROR_NOT_SUPPORTED);
}

TEST_F(GpmTest, PartsFollowTheUtilizationUnlessTheMachineSaysOtherwise) {
  Sample(Device(0), first_);
  usleep(1000);
  Sample(Device(0), second_);
  EXPECT_DOUBLE_EQ(Metric(NVML_GPM_METRIC_SM_UTIL), 40);
  EXPECT_DOUBLE_EQ(Metric(NVML_GPM_METRIC_ANY_TENSOR_UTIL), 20);
  EXPECT_DOUBLE_EQ(Metric(NVML_GPM_METRIC_DRAM_BW_UTIL), 30);
  EXPECT_DOUBLE_EQ(Metric(NVML_GPM_METRIC_NVDEC_0_UTIL), 7);
  EXPECT_DOUBLE_EQ(Metric(NVML_GPM_METRIC_PCIE_TX_PER_SEC), 2);
  EXPECT_TRUE(std::isnan(Metric(NVML_GPM_METRIC_NVDEC_1_UTIL)));  // it has one decoder
  EXPECT_TRUE(std::isnan(Metric(NVML_GPM_METRIC_C2C_TOTAL_TX_PER_SEC)));
  Control([](Machine&, Gpu* gpus) { gpus[0].gpm_tensor = 6250; });
  EXPECT_DOUBLE_EQ(Metric(NVML_GPM_METRIC_ANY_TENSOR_UTIL), 62.5);
}

TEST_F(GpmTest, WhatIsNotKnownIsNotSupported) {
  Control([](Machine&, Gpu* gpus) {
    gpus[0].utilization_gpu = gpus[0].utilization_memory = kUnknown32;
    gpus[0].gpm_sm = 1250;
  });
  Sample(Device(0), first_);
  usleep(1000);
  Sample(Device(0), second_);
  EXPECT_TRUE(std::isnan(Metric(NVML_GPM_METRIC_ANY_TENSOR_UTIL)));
  EXPECT_TRUE(std::isnan(Metric(NVML_GPM_METRIC_DRAM_BW_UTIL)));
  EXPECT_DOUBLE_EQ(Metric(NVML_GPM_METRIC_SM_UTIL), 12.5);
}

TEST_F(GpmTest, LinksAreCountedOverTheTimeBetween) {
  Sample(Device(0), first_);
  Control([](Machine&, Gpu* gpus) {
    gpus[0].links[0].sent += 1024 * 1024;
    gpus[0].links[1].sent += 1024 * 1024;
    gpus[0].links[1].received += 2048 * 1024;
  });
  usleep(100000);
  Sample(Device(0), second_);
  double one = Metric(NVML_GPM_METRIC_NVLINK_L0_TX_PER_SEC);
  EXPECT_GT(one, 1000);
  EXPECT_LT(one, 10300);  // 1 GiB in a tenth of a second or more
  EXPECT_DOUBLE_EQ(Metric(NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC), 2 * one);
  EXPECT_DOUBLE_EQ(Metric(NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC), 2 * one);
  EXPECT_DOUBLE_EQ(Metric(NVML_GPM_METRIC_NVLINK_L0_RX_PER_SEC), 0);
  EXPECT_TRUE(std::isnan(Metric(NVML_GPM_METRIC_NVLINK_L2_TX_PER_SEC)));  // it has two links
}

TEST_F(GpmTest, TwoSamplesMustBeOfOneThing) {
  auto get = std::make_unique<nvmlGpmMetricsGet_t>();
  get->version = NVML_GPM_METRICS_GET_VERSION;
  get->sample1 = first_;
  get->sample2 = second_;
  Sample(Device(0), first_);
  EXPECT_EQ(NVML(nvmlGpmMetricsGet)(get.get()), NVML_ERROR_INVALID_ARGUMENT);  // one is empty
  Sample(Device(1), second_);
  EXPECT_EQ(NVML(nvmlGpmMetricsGet)(get.get()), NVML_ERROR_INVALID_ARGUMENT);
  get->sample2 = first_;
  get->numMetrics = 1;
  get->metrics[0].metricId = NVML_GPM_METRIC_SM_UTIL;
  EXPECT_EQ(NVML(nvmlGpmMetricsGet)(get.get()), NVML_SUCCESS);
  EXPECT_TRUE(std::isnan(get->metrics[0].value));  // no time passed
  get->version = 2;
  EXPECT_EQ(NVML(nvmlGpmMetricsGet)(get.get()), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
}

TEST_F(GpmTest, AGpuInstanceIsAsBusyAsItsProcesses) {
  EXPECT_EQ(NVML(nvmlGpmMigSampleGet)(Device(0), 2, first_), NVML_ERROR_NOT_SUPPORTED);
  Control([](Machine&, Gpu* gpus) {
    gpus[0].mig = 1;
    gpus[0].gpu_instances[2] = {1, NVML_GPU_INSTANCE_PROFILE_3_SLICE, 4, 0};
    gpus[0].process_count = 2;
    for (u32 i = 0; i < 2; ++i) {
      gpus[0].processes[i] = ProcessOf(7 + i, 100, kCompute);
      gpus[0].processes[i].gpu_instance = i == 0 ? 2 : 1;
      gpus[0].processes[i].sm_utilization = 50 + i;
      gpus[0].processes[i].memory_utilization = 20;
    }
  });
  EXPECT_EQ(NVML(nvmlGpmMigSampleGet)(Device(0), 3, first_), NVML_ERROR_NOT_FOUND);
  ASSERT_EQ(NVML(nvmlGpmMigSampleGet)(Device(0), 2, first_), NVML_SUCCESS);
  usleep(1000);
  ASSERT_EQ(NVML(nvmlGpmMigSampleGet)(Device(0), 2, second_), NVML_SUCCESS);
  EXPECT_DOUBLE_EQ(Metric(NVML_GPM_METRIC_GRAPHICS_UTIL), 50);
  EXPECT_DOUBLE_EQ(Metric(NVML_GPM_METRIC_DRAM_BW_UTIL), 20);
  EXPECT_TRUE(std::isnan(Metric(NVML_GPM_METRIC_PCIE_TX_PER_SEC)));  // of the whole GPU only
}

}  // namespace
}  // namespace fakegpu
