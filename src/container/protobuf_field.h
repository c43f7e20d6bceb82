// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gantry::container {

// A field of a protobuf message: its number, and its content (of a number: its value).
struct ProtobufField {
  uint64_t number = 0;
  uint64_t value = 0;
  std::string_view content;  // in the message
};

// Removes the first field of a message; nullopt at its end or if it is malformed.
std::optional<ProtobufField> TakeField(std::string_view& message);

}  // namespace gantry::container
