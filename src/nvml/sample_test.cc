// SPDX-License-Identifier: Apache-2.0
// Reading values from a driver that answers as the test says: functions of the test's own stand in
// for the library's.
#include "nvml/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "nvml/reader.h"

namespace gantry::nvml {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Texts(const std::vector<Answer>& answers) {
  std::vector<std::string> texts;
  for (const Answer& answer : answers) {
    if (!answer) {
      texts.emplace_back(KindName(answer.error()));
    } else if (const auto* number = std::get_if<double>(&*answer)) {
      texts.push_back(std::to_string(static_cast<long long>(*number)));
    } else {
      texts.push_back(std::get<std::string>(*answer));
    }
  }
  return texts;
}

std::vector<std::string> Ask(const Symbols& symbols, const std::vector<Reading>& readings) {
  return Texts(Reader(symbols, nullptr).Read(readings));
}

TEST(Sample, FieldValuesComeInBatchesAndFailOneByOne) {
  static std::vector<int> batches;
  batches.clear();
  Symbols symbols;
  symbols.nvmlDeviceGetFieldValues = [](nvmlDevice_t, int count, nvmlFieldValue_t* values) {
    batches.push_back(count);
    for (int i = 0; i < count; ++i) {
      values[i].nvmlReturn = values[i].fieldId == 7 ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
      values[i].valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
      values[i].value.ullVal = values[i].fieldId * 10 + values[i].scopeId;
    }
    return NVML_SUCCESS;
  };
  EXPECT_THAT(Ask(symbols, {{Source::kFieldValue, 5, 2},
                            {Source::kPcieReplays},
                            {Source::kFieldValue, 7},
                            {Source::kFieldValue, 8}}),
              ElementsAre("52", "unsupported", "unsupported", "80"));
  EXPECT_THAT(batches, ElementsAre(3));
  batches.clear();
  Ask(symbols, std::vector<Reading>(200, {Source::kFieldValue, 1}));
  EXPECT_THAT(batches, ElementsAre(128, 72));
}

TEST(Sample, AFieldThatNvmlLeavesOutIsAskedAlone) {
  static std::vector<int> batches;
  batches.clear();
  Symbols symbols;
  symbols.nvmlDeviceGetFieldValues = [](nvmlDevice_t, int count, nvmlFieldValue_t* values) {
    batches.push_back(count);
    for (int i = 0; i < count; ++i) {
      if (values[i].fieldId == 147 || (values[i].fieldId == 187 && count > 1)) {
        continue;  // as an H200's driver does
      }
      values[i].nvmlReturn = NVML_SUCCESS;
      values[i].valueType = NVML_VALUE_TYPE_UNSIGNED_SHORT;
      values[i].value.usVal = static_cast<unsigned short>(values[i].fieldId);
    }
    return NVML_SUCCESS;
  };
  EXPECT_THAT(
      Ask(symbols,
          {{Source::kFieldValue, 147}, {Source::kFieldValue, 187}, {Source::kFieldValue, 188}}),
      ElementsAre("unsupported", "187", "188"));
  EXPECT_THAT(batches, ElementsAre(3, 1, 1));
}

TEST(Sample, FieldsHaveTheDriversNumbers) {
  Symbols symbols;
  symbols.nvmlDeviceGetFieldValues = [](nvmlDevice_t, int, nvmlFieldValue_t* values) {
    values[0].nvmlReturn = NVML_SUCCESS;
    values[0].valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
    values[0].value.uiVal = values[0].fieldId;
    return NVML_SUCCESS;
  };
  const std::vector<Reading> asked{
      {Source::kFieldValue, NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN}};
  symbols.driver_version = "575.57.08";
  EXPECT_THAT(Ask(symbols, asked), ElementsAre("252"));
  symbols.driver_version = "580.159.04";
  EXPECT_THAT(Ask(symbols, asked), ElementsAre("270"));
}

TEST(Sample, OneCallAnswersSeveralReadings) {
  static int calls;
  calls = 0;
  Symbols symbols;
  symbols.nvmlDeviceGetMemoryInfo_v2 = [](nvmlDevice_t, nvmlMemory_v2_t* memory) {
    calls++;
    memory->total = 100;
    memory->reserved = 20;
    memory->used = 40;
    memory->free = 40;
    return NVML_SUCCESS;
  };
  EXPECT_THAT(
      Ask(symbols, {{Source::kMemoryTotal}, {Source::kMemoryUsed}, {Source::kMemoryReserved}}),
      ElementsAre("100", "40", "20"));
  EXPECT_EQ(calls, 1);
  const auto ratio =
      Reader(symbols, nullptr).Read(std::vector<Reading>{{Source::kMemoryUsedRatio}});
  EXPECT_EQ(std::get<double>(*ratio[0]), 0.5);
}

TEST(Sample, ADriverBefore510KnowsNoReservedMemory) {
  Symbols symbols;
  symbols.nvmlDeviceGetMemoryInfo = [](nvmlDevice_t, nvmlMemory_t* memory) {
    *memory = {.total = 100, .free = 60, .used = 40};
    return NVML_SUCCESS;
  };
  EXPECT_THAT(Ask(symbols, {{Source::kMemoryUsed}, {Source::kMemoryReserved}}),
              ElementsAre("40", "unsupported"));
}

TEST(Sample, AGpuThatIsLostIsAskedNothingMore) {
  static int calls;
  calls = 0;
  Symbols symbols;
  symbols.nvmlDeviceGetPowerUsage = [](nvmlDevice_t, unsigned*) {
    calls++;
    return NVML_ERROR_GPU_IS_LOST;
  };
  Reader reader(symbols, nullptr);
  reader.Read(std::vector<Reading>(3, {Source::kPower}));
  EXPECT_TRUE(reader.lost());
  EXPECT_EQ(calls, 1);
  symbols.nvmlDeviceGetPowerUsage = [](nvmlDevice_t, unsigned*) { return NVML_ERROR_UNKNOWN; };
  Reader ill(symbols, nullptr);
  EXPECT_THAT(Texts(ill.Read(std::vector<Reading>{{Source::kPower}})), ElementsAre("unavailable"));
  EXPECT_FALSE(ill.lost()) << "one question without an answer is no lost GPU";
}

TEST(Sample, TextsAndArguments) {
  Symbols symbols;
  symbols.nvmlDeviceGetSerial = [](nvmlDevice_t, char* text, unsigned size) {
    snprintf(text, size, "123");
    return NVML_SUCCESS;
  };
  symbols.nvmlDeviceGetInforomVersion = [](nvmlDevice_t, nvmlInforomObject_t object, char* text,
                                           unsigned size) {
    snprintf(text, size, "v%d", static_cast<int>(object));
    return NVML_SUCCESS;
  };
  symbols.nvmlDeviceGetMemoryErrorCounter =
      [](nvmlDevice_t, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter,
         nvmlMemoryLocation_t place, unsigned long long* count) {
        *count = static_cast<unsigned long long>(type) * 100 + counter * 10ULL + place;
        return NVML_SUCCESS;
      };
  EXPECT_THAT(Ask(symbols, {{Source::kText, kSerial},
                            {Source::kText, kInforomEcc},
                            {Source::kText, kVbios},
                            {Source::kMemoryErrors, 3, kVolatileSingle},
                            {Source::kMemoryErrors, 3, kAggregateDouble}}),
              ElementsAre("123", "v1", "unsupported", "3", "113"));
}

}  // namespace
}  // namespace gantry::nvml
