// SPDX-License-Identifier: Apache-2.0
// One question to a container runtime after it was restarted. gRPC is HTTP/2 with a length before
// each message; a single call with an empty request is a hundred fixed bytes, and of the answer
// only the DATA frames count. A gRPC library would cost this process more memory than all the rest
// of it.
#include "container/cri_status.h"

#include <cstdint>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "container/unix_call.h"

namespace gantry::container {
namespace {

enum FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kReset = 3,
  kSettings = 4,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8
};
constexpr uint8_t kEndStream = 0x1;
constexpr uint8_t kAck = 0x1;
constexpr uint8_t kEndHeaders = 0x4;
constexpr uint8_t kPadded = 0x8;
constexpr size_t kFrameHead = 9;
constexpr size_t kMessageHead = 5;
constexpr size_t kMostBytes = size_t{4} << 20;

// Windows of more than an answer ever has (64 KB is the default): nothing waits for our consent.
constexpr std::string_view kWideStream("\0\x04\0\x40\0\0", 6);  // SETTINGS_INITIAL_WINDOW_SIZE
constexpr std::string_view kWideConnection("\0\x40\0\0", 4);

std::string Frame(uint8_t type, uint8_t flags, uint8_t stream, std::string_view payload) {
  std::string frame;
  frame += static_cast<char>((payload.size() >> 16) & 0xFF);
  frame += static_cast<char>((payload.size() >> 8) & 0xFF);
  frame += static_cast<char>(payload.size() & 0xFF);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  frame.append(3, '\0');
  frame += static_cast<char>(stream);
  return frame.append(payload);
}

std::string Literal(std::string_view text) {
  return static_cast<char>(text.size()) +
         std::string(text);  // shorter than 127: one byte of length
}

// The whole request. Header fields by HPACK (RFC 7541): an indexed field is one byte with the top
// bit set, a literal without indexing is 0x0 + the index of its name (0: the name follows).
std::string Request() {
  constexpr char kPost = '\x83';
  constexpr char kHttp = '\x86';
  std::string fields;
  fields += kPost;
  fields += kHttp;
  fields += '\x04' + Literal("/runtime.v1.RuntimeService/Status");     // :path
  fields += '\x01' + Literal("localhost");                             // :authority
  fields += std::string("\x0f\x10", 2) + Literal("application/grpc");  // content-type, index 31
  fields += std::string(1, '\0') + Literal("te") + Literal("trailers");
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(kSettings, 0, 0, kWideStream) +
         Frame(kWindowUpdate, 0, 0, kWideConnection) + Frame(kHeaders, kEndHeaders, 1, fields) +
         Frame(kData, kEndStream, 1, std::string("\0\0\0\0\2\x08\x01", 7));  // verbose: true
}

// The message that a call's DATA frames carry, without its length.
Result<std::string> Answer(UnixCall& call, const std::string& path) {
  std::string message;
  while (true) {
    TRY_ASSIGN(const std::string head, call.Receive(kFrameHead));
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(head[i]); };
    const size_t length = (size_t{byte(0)} << 16) | (size_t{byte(1)} << 8) | byte(2);
    TRY_ASSIGN(const std::string payload, call.Receive(length));
    const uint8_t flags = byte(4);
    switch (byte(3)) {
      case kSettings:
        if ((flags & kAck) == 0) {
          TRY(call.Send(Frame(kSettings, kAck, 0, "")));
        }
        break;
      case kPing:
        if ((flags & kAck) == 0) {
          TRY(call.Send(Frame(kPing, kAck, 0, payload)));
        }
        break;
      case kData:
        if ((flags & kPadded) == 0) {
          message += payload;
        }
        break;
      case kReset:
      case kGoAway:
        return Fail(ErrorKind::kUnavailable, format("ask {}: it closed the call", path));
      default:
        break;
    }
    const bool ours = byte(3) == kData || byte(3) == kHeaders;
    if (ours && (flags & kEndStream) != 0) {
      // An error of gRPC has a status in its trailers and no message.
      return message.size() < kMessageHead
                 ? Fail(ErrorKind::kUnavailable, format("ask {}: it answered with an error", path))
                 : Result<std::string>(message.substr(kMessageHead));
    }
    if (message.size() > kMostBytes) {
      return Fail(ErrorKind::kInternal, format("ask {}: the answer is too long", path));
    }
  }
}

// A field of a protobuf message: its number, and its content (of a number: its value).
struct Field {
  uint64_t number = 0;
  uint64_t value = 0;
  std::string_view content;
};

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

// The next field; nullopt at the end or where the message is broken.
std::optional<Field> TakeField(std::string_view& bytes) {
  const auto tag = TakeNumber(bytes);
  if (!tag) {
    return std::nullopt;
  }
  Field field{*tag >> 3, 0, {}};
  const uint64_t type = *tag & 7;
  if (type == 0) {
    const auto value = TakeNumber(bytes);
    field.value = value.value_or(0);
    return value ? std::optional(field) : std::nullopt;
  }
  const auto size = type == 2   ? TakeNumber(bytes)
                    : type == 1 ? std::optional<uint64_t>(8)
                    : type == 5 ? std::optional<uint64_t>(4)
                                : std::nullopt;
  if (!size || *size > bytes.size()) {
    return std::nullopt;
  }
  field.content = bytes.substr(0, *size);
  bytes.remove_prefix(*size);
  return field;
}

bool IsReady(std::string_view condition) {
  bool runtime = false;
  bool set = false;
  while (const auto field = TakeField(condition)) {
    runtime = runtime || (field->number == 1 && field->content == "RuntimeReady");
    set = set || (field->number == 2 && field->value != 0);
  }
  return runtime && set;
}

// Names of the runtimes in the configuration that containerd prints into `info`, as JSON.
void TakeConfiguredRuntimes(std::string_view entry, std::vector<std::string>& into) {
  std::string_view key;
  std::string_view value;
  while (const auto part = TakeField(entry)) {
    (part->number == 1 ? key : value) = part->content;
  }
  const auto config = key == "config" ? ParseJson(value) : Result<Json>(Json());
  const Json* runtimes = config ? At(*config, "containerd.runtimes") : nullptr;
  if (runtimes == nullptr || !runtimes->is_object()) {
    return;
  }
  for (const auto& [name, runtime] : runtimes->items()) {
    into.push_back(name);
  }
}

}  // namespace

Result<CriStatus> ParseCriStatus(std::string_view message) {
  CriStatus status;
  std::vector<std::string> configured;
  while (!message.empty()) {
    const auto field = TakeField(message);
    if (!field) {
      return Fail(ErrorKind::kInternal, "read the runtime's status: it is broken");
    }
    std::string_view inner = field->content;
    if (field->number == 1) {  // status
      while (const auto condition = TakeField(inner)) {
        status.ready = status.ready || (condition->number == 1 && IsReady(condition->content));
      }
    } else if (field->number == 2) {  // info
      TakeConfiguredRuntimes(inner, configured);
    } else if (field->number == 3) {  // runtime_handlers
      while (const auto part = TakeField(inner)) {
        if (part->number == 1 && !part->content.empty()) {
          status.handlers.emplace_back(part->content);
        }
      }
    }
  }
  if (status.handlers.empty()) {
    status.handlers = std::move(configured);
  }
  return status;
}

Result<CriStatus> AskCriStatus(const std::string& socket_path, std::chrono::milliseconds limit) {
  TRY_ASSIGN(UnixCall call, UnixCall::Connect(socket_path, limit));
  TRY(call.Send(Request()));
  TRY_ASSIGN(const std::string message, Answer(call, socket_path));
  return ParseCriStatus(message);
}

}  // namespace gantry::container
