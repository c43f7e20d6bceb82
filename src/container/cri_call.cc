// SPDX-License-Identifier: Apache-2.0
// How is one gRPC method called without a gRPC library? gRPC is HTTP/2 with a length before each
// message: a call is a hundred fixed bytes and a message, and only the response's DATA frames
// count. A gRPC library would cost this process more memory than everything else in it.
#include "container/cri_call.h"

#include <cstdint>

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
constexpr size_t kMostReceived = size_t{4} << 20;

// Windows of 64 MiB, more than any response has (the default is 64 KB), so that no WINDOW_UPDATE is
// needed.
constexpr std::string_view kWideStream("\0\x04\x04\0\0\0", 6);  // SETTINGS_INITIAL_WINDOW_SIZE
constexpr std::string_view kWideConnection("\x04\0\0\0", 4);

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

// The prefix of a message: not compressed, and its length in 4 bytes.
std::string MessageHead(size_t size) {
  std::string head(kMessageHead, '\0');
  for (size_t i = kMessageHead; size > 0; size >>= 8) {
    head[--i] = static_cast<char>(size & 0xFF);
  }
  return head;
}

// The entire request. Header fields by HPACK (RFC 7541): an indexed field is one byte with the top
// bit set, a literal without indexing is 0x0 + the index of its name (0: the name follows).
std::string Request(std::string_view method, std::string_view message) {
  constexpr char kPost = '\x83';
  constexpr char kHttp = '\x86';
  std::string fields;
  fields += kPost;
  fields += kHttp;
  fields += '\x04' + Literal(method);                                  // :path
  fields += '\x01' + Literal("localhost");                             // :authority
  fields += std::string("\x0f\x10", 2) + Literal("application/grpc");  // content-type
  fields += std::string(1, '\0') + Literal("te") + Literal("trailers");
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(kSettings, 0, 0, kWideStream) +
         Frame(kWindowUpdate, 0, 0, kWideConnection) + Frame(kHeaders, kEndHeaders, 1, fields) +
         Frame(kData, kEndStream, 1, MessageHead(message.size()) + std::string(message));
}

// The message in a call's DATA frames, without its length.
Result<std::string> Answer(UnixCall& call, const std::string& path, size_t most) {
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
      // A gRPC error has a status in its trailers and no message.
      return message.size() < kMessageHead
                 ? Fail(ErrorKind::kUnavailable, format("ask {}: it answered with an error", path))
                 : Result<std::string>(message.substr(kMessageHead));
    }
    if (message.size() > most + kMessageHead) {
      return Fail(ErrorKind::kInternal, format("ask {}: the answer is too long", path));
    }
  }
}

}  // namespace

Result<std::string> CallUnary(const std::string& socket_path, std::string_view method,
                              std::string_view request, std::chrono::milliseconds limit,
                              size_t most) {
  TRY_ASSIGN(UnixCall call, UnixCall::Connect(socket_path, limit));
  TRY(call.Send(Request(method, request)));
  return Answer(call, socket_path, most);
}

Result<std::string> CallCri(const std::string& socket_path, std::string_view method,
                            std::string_view request, std::chrono::milliseconds limit) {
  return CallUnary(socket_path, format("/runtime.v1.RuntimeService/{}", method), request, limit,
                   kMostReceived);
}

}  // namespace gantry::container
