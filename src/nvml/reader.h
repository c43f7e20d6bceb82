// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "nvml/errors.h"
#include "nvml/sample.h"
#include "nvml/symbols.h"

namespace gantry::nvml {

// The readings of one handle. A call that several readings need is made once.
class Reader {
 public:
  Reader(const Symbols& symbols, nvmlDevice_t device) : nvml_(symbols), device_(device) {}

  std::vector<Answer> Read(std::span<const Reading> readings);
  [[nodiscard]] bool lost() const { return lost_; }

 private:
  using Unsigned = nvmlReturn_t (*)(nvmlDevice_t, unsigned*);

  Answer Failed(nvmlReturn_t code) {
    lost_ = lost_ || code == NVML_ERROR_GPU_IS_LOST;
    return std::unexpected(KindOf(code));
  }
  template <typename Number>
  Answer Said(nvmlReturn_t code, Number number) {
    return code == NVML_SUCCESS ? Answer(Value(static_cast<double>(number))) : Failed(code);
  }
  Answer Number(Unsigned function) {
    unsigned number = 0;
    const nvmlReturn_t code = Call(function, device_, &number);
    return Said(code, number);
  }
  // `ask` fills a buffer of that size.
  template <typename Ask>
  Answer Text(const Ask& ask) {
    std::array<char, 64> text{};
    const nvmlReturn_t code = ask(text.data(), static_cast<unsigned>(text.size()));
    return code == NVML_SUCCESS ? Answer(Value(std::string(text.data()))) : Failed(code);
  }

  void ReadFields(std::span<const Reading> readings, std::vector<Answer>& answers);
  void ReadFields(std::span<nvmlFieldValue_t> fields);
  Answer FieldAnswer(const nvmlFieldValue_t& field);
  Answer Ask(const Reading& reading);
  Answer AskClocks(const Reading& reading);
  Answer AskPower(const Reading& reading);
  Answer AskPcie(const Reading& reading);
  Answer AskUtilization(Source source);
  Answer AskMemory(Source source);
  Answer AskBar1(Source source);
  Answer AskErrors(const Reading& reading);
  Answer AskModes(const Reading& reading);
  Answer AskIdentity(const Reading& reading);
  Answer AskFabric(unsigned part);
  Answer AskText(unsigned part);
  Answer AskLicense();
  Answer AskAffinity(const Reading& reading);

  const Symbols& nvml_;
  const nvmlDevice_t device_;
  bool lost_ = false;
  std::optional<std::pair<nvmlReturn_t, nvmlMemory_v2_t>> memory_;
  std::optional<std::pair<nvmlReturn_t, nvmlBAR1Memory_t>> bar1_;
  std::optional<std::pair<nvmlReturn_t, nvmlUtilization_t>> utilization_;
};

}  // namespace gantry::nvml
