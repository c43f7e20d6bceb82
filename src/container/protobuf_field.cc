// SPDX-License-Identifier: Apache-2.0
// Which fields does a protobuf message have? By wire types alone, without a schema.
#include "container/protobuf_field.h"

namespace gantry::container {
namespace {

std::optional<uint64_t> TakeNumber(std::string_view& bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ProtobufField> TakeField(std::string_view& message) {
  const auto tag = TakeNumber(message);
  if (!tag) {
    return std::nullopt;
  }
  ProtobufField field{*tag >> 3, 0, {}};
  const uint64_t type = *tag & 7;
  if (type == 0) {
    const auto value = TakeNumber(message);
    field.value = value.value_or(0);
    return value ? std::optional(field) : std::nullopt;
  }
  const auto size = type == 2   ? TakeNumber(message)
                    : type == 1 ? std::optional<uint64_t>(8)
                    : type == 5 ? std::optional<uint64_t>(4)
                                : std::nullopt;
  if (!size || *size > message.size()) {
    return std::nullopt;
  }
  field.content = message.substr(0, *size);
  message.remove_prefix(*size);
  return field;
}

}  // namespace gantry::container
