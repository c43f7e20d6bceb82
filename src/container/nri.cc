// SPDX-License-Identifier: Apache-2.0
// Which bytes does an NRI plugin send? Three layers, each a few lines here: frames that carry two
// streams over one connection (connection id, length; both big endian), messages of ttrpc in each
// stream (length, stream id, type, flags), and protobuf in the messages. Only the fields that
// matter are read: gRPC's libraries would cost the toolkit more memory than it uses altogether.
#include "container/nri.h"

#include <array>
#include <cstdint>
#include <optional>

#include "base/text.h"

namespace gantry::container {
namespace {

constexpr std::string_view kRuntimeService = "nri.pkg.api.v1alpha1.Runtime";
constexpr uint32_t kPluginStream = 1;   // the runtime calls the plugin
constexpr uint32_t kRuntimeStream = 2;  // the plugin calls the runtime
constexpr size_t kFrameHeader = 8;
constexpr size_t kMessageHeader = 10;
constexpr size_t kMostMessage = size_t{4} << 20;  // of a message (ttrpc's own limit)
// The peer reads a frame into a buffer of this size.
constexpr size_t kFrameBytes = 4096;
constexpr char kRequest = 1;
constexpr char kResponse = 2;
constexpr uint64_t kUnimplemented = 12;        // of google.rpc.Code
constexpr uint64_t kCreateContainer = 1 << 3;  // in the mask of events: Event 4 of api.proto

uint32_t BigEndian(std::string_view bytes) {
  uint32_t value = 0;
  for (const char byte : bytes.substr(0, 4)) {
    value = value << 8 | static_cast<unsigned char>(byte);
  }
  return value;
}

void PutBigEndian(std::string& out, size_t value) {
  for (const int shift : {24, 16, 8, 0}) {
    out.push_back(static_cast<char>(value >> shift & 0xff));
  }
}

void PutVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    out.push_back(static_cast<char>(value | 0x80));
  }
  out.push_back(static_cast<char>(value));
}

void PutNumber(std::string& out, unsigned field, uint64_t value) {
  PutVarint(out, uint64_t{field} << 3);
  PutVarint(out, value);
}

void PutBytes(std::string& out, unsigned field, std::string_view bytes) {
  PutVarint(out, uint64_t{field} << 3 | 2);
  PutVarint(out, bytes.size());
  out.append(bytes);
}

// Iterates over the fields of a protobuf message.
class Fields {
 public:
  struct Field {
    uint64_t number = 0;
    uint64_t value = 0;      // of a number
    std::string_view bytes;  // of a string or a message
  };

  explicit Fields(std::string_view message) : rest_(message) {}

  // nullopt at the end, and for malformed input.
  std::optional<Field> Next() {
    if (rest_.empty()) {
      return std::nullopt;
    }
    const uint64_t key = Varint();
    Field field{key >> 3, 0, {}};
    switch (key & 7) {
      case 0:
        field.value = Varint();
        break;
      case 1:
        field.bytes = Bytes(8);
        break;
      case 2:
        field.bytes = Bytes(Varint());
        break;
      case 5:
        field.bytes = Bytes(4);
        break;
      default:
        broken_ = true;
    }
    if (broken_) {
      rest_ = {};
      return std::nullopt;
    }
    return field;
  }

  [[nodiscard]] bool broken() const { return broken_; }

 private:
  uint64_t Varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) {
        return value;
      }
    }
    broken_ = true;
    return 0;
  }

  std::string_view Bytes(uint64_t size) {
    if (size > rest_.size()) {
      broken_ = true;
      return {};
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  std::string_view rest_;
  bool broken_ = false;
};

// The first field of that number that is a string or message; empty if there is none.
std::string_view BytesAt(std::string_view message, uint64_t number) {
  Fields fields(message);
  while (const auto field = fields.Next()) {
    if (field->number == number) {
      return field->bytes;
    }
  }
  return {};
}

uint64_t NumberAt(std::string_view message, uint64_t number) {
  Fields fields(message);
  while (const auto field = fields.Next()) {
    if (field->number == number) {
      return field->value;
    }
  }
  return 0;
}

bool IsProtobuf(std::string_view message) {
  Fields fields(message);
  while (fields.Next()) {
  }
  return !fields.broken();
}

// CreateContainerRequest {PodSandbox pod = 1; Container container = 2}.
NriContainer ContainerOf(std::string_view request) {
  NriContainer container;
  Fields pod(BytesAt(request, 1));
  while (const auto field = pod.Next()) {
    if (field->number == 2) {
      container.pod_name = field->bytes;
    } else if (field->number == 4) {
      container.pod_namespace = field->bytes;
    } else if (field->number == 6) {
      container.pod_annotations[std::string(BytesAt(field->bytes, 1))] = BytesAt(field->bytes, 2);
    }
  }
  container.name = BytesAt(BytesAt(request, 2), 3);
  return container;
}

// A ttrpc message in as many frames as it needs.
std::string Framed(uint32_t stream, uint32_t id, char type, std::string_view payload) {
  std::string message;
  PutBigEndian(message, payload.size());
  PutBigEndian(message, id);
  message.push_back(type);
  message.push_back('\0');
  message.append(payload);
  std::string out;
  for (std::string_view rest = message; !rest.empty();) {
    const std::string_view part = rest.substr(0, kFrameBytes);
    PutBigEndian(out, stream);
    PutBigEndian(out, part.size());
    out.append(part);
    rest.remove_prefix(part.size());
  }
  return out;
}

std::unexpected<Error> Broken(std::string_view why) {
  return Fail(ErrorKind::kInvalid, format("talk to the runtime by NRI: {}", why));
}

}  // namespace

std::string NriSession::Hello() const {
  std::string plugin;
  PutBytes(plugin, 1, name_);
  PutBytes(plugin, 2, index_);
  std::string request;
  PutBytes(request, 1, kRuntimeService);
  PutBytes(request, 2, "RegisterPlugin");
  PutBytes(request, 3, plugin);
  return Framed(kRuntimeStream, 1, kRequest, request);
}

Result<std::string> NriSession::Take(std::string_view bytes) {
  trunk_.append(bytes);
  std::string out;
  size_t at = 0;
  while (trunk_.size() - at >= kFrameHeader) {
    const std::string_view frame = std::string_view(trunk_).substr(at);
    const uint32_t stream = BigEndian(frame);
    const size_t size = BigEndian(frame.substr(4));
    if (size > kMostMessage + kMessageHeader) {
      return Broken("a frame is too long");
    }
    if (frame.size() < kFrameHeader + size) {
      break;
    }
    if (stream == kPluginStream || stream == kRuntimeStream) {
      std::string& into = stream == kPluginStream ? requests_ : answers_;
      into.append(frame.substr(kFrameHeader, size));
      TRY_ASSIGN(const std::string more, TakeMessages(stream == kRuntimeStream, into));
      out += more;
    }
    at += kFrameHeader + size;
  }
  trunk_.erase(0, at);
  return out;
}

Result<std::string> NriSession::TakeMessages(bool from_runtime_service, std::string& stream) {
  std::string out;
  size_t at = 0;
  while (stream.size() - at >= kMessageHeader) {
    const std::string_view message = std::string_view(stream).substr(at);
    const size_t size = BigEndian(message);
    const uint32_t id = BigEndian(message.substr(4));
    const char type = message[8];
    if (size > kMostMessage) {
      return Broken("a message is too long");
    }
    if (message.size() < kMessageHeader + size) {
      break;
    }
    const std::string_view payload = message.substr(kMessageHeader, size);
    if (!IsProtobuf(payload)) {
      return Broken("a message is no protobuf");
    }
    if (from_runtime_service && type == kResponse) {
      const std::string_view status = BytesAt(payload, 1);
      if (NumberAt(status, 1) != 0) {
        return Fail(ErrorKind::kDenied,
                    format("register with the runtime by NRI: {}", BytesAt(status, 2)));
      }
    } else if (!from_runtime_service && type == kRequest) {
      bool known = true;
      const std::string_view method = BytesAt(payload, 2);
      const std::string answer = Answer(method, BytesAt(payload, 3), known);
      std::string response;
      if (!known) {
        std::string status;
        PutNumber(status, 1, kUnimplemented);
        PutBytes(status, 2, format("{} is not known", method));
        PutBytes(response, 1, status);
      }
      PutBytes(response, 2, answer);
      out += Framed(kPluginStream, id, kResponse, response);
    }
    at += kMessageHeader + size;
  }
  stream.erase(0, at);
  return out;
}

std::string NriSession::Answer(std::string_view method, std::string_view request, bool& known) {
  std::string answer;
  if (method == "Configure") {
    PutNumber(answer, 2, kCreateContainer);
    configured_ = true;
  } else if (method == "Synchronize") {
    PutNumber(answer, 2, NumberAt(request, 3));  // whether more parts of the list follow
  } else if (method == "CreateContainer") {
    std::string adjustment;
    for (const std::string& device : devices_(ContainerOf(request))) {
      std::string cdi;
      PutBytes(cdi, 1, device);
      PutBytes(adjustment, 8, cdi);
    }
    PutBytes(answer, 1, adjustment);
  } else {
    constexpr std::array<std::string_view, 2> kNothingToSay = {"Shutdown", "StateChange"};
    known = method == kNothingToSay[0] || method == kNothingToSay[1];
  }
  return answer;
}

}  // namespace gantry::container
