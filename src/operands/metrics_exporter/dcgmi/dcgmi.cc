// SPDX-License-Identifier: Apache-2.0
// Asks the exporter of this node over its socket, and prints. No call goes into the driver here, so
// nothing is open that a change of the MIG mode would wait for.
#include "operands/metrics_exporter/dcgmi/dcgmi.h"

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "container/unix_call.h"
#include "http/http.h"
#include "operands/metrics_exporter/dcgmi/command.h"
#include "operands/metrics_exporter/dcgmi/tables.h"

namespace gantry::dcgmi {
namespace {

using Word = Command::Word;

constexpr std::chrono::seconds kLimit(15);  // for an answer; a GPU that hangs takes 5 s of it
constexpr std::chrono::milliseconds kAskAgain(20);
constexpr size_t kMostAnswer = size_t{4} << 20;
constexpr unsigned kHeaderEvery = 15;  // rows
// The DCGM whose fields and names these are.
constexpr char kDcgm[] = "4.6.0";

void Print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

struct Answer {
  int status;
  std::string body;
};

Result<Answer> AskOnce(const std::string& socket, const std::string& path) {
  TRY_ASSIGN(container::UnixCall call, container::UnixCall::Connect(socket, kLimit));
  TRY(call.Send(format("GET {} HTTP/1.1\r\nHost: exporter\r\nConnection: close\r\n\r\n", path)));
  TRY_ASSIGN(const std::string bytes, call.ReceiveAll(kMostAnswer));
  Answer answer{};
  http::ResponseReader reader([&answer](std::string_view piece) { answer.body += piece; });
  TRY(reader.Feed(bytes));
  if (!reader.done()) {
    TRY(reader.End());
  }
  answer.status = reader.status();
  return answer;
}

// Until there is an answer. kUnavailable: no exporter runs here.
Result<Json> Ask(const std::string& socket, const std::string& path) {
  const SteadyTime end = RealClock().Now() + kLimit;
  while (RealClock().Now() < end) {
    auto answer = AskOnce(socket, path);
    if (!answer) {
      return Fail(ErrorKind::kUnavailable,
                  format("the exporter of this node can't be asked: {}", answer.error().message));
    }
    if (answer->status == 200) {
      return ParseJson(answer->body);
    }
    if (answer->status != 202) {
      return Fail(ErrorKind::kInvalid, std::string(Trim(answer->body)));
    }
    std::this_thread::sleep_for(kAskAgain);
  }
  return Fail(ErrorKind::kTimeout, "the exporter has no answer of the GPUs");
}

Status Dmon(const Command& command) {
  const std::string path = "/values/" + command.fields;
  for (unsigned row = 0; command.count == 0 || row < command.count; ++row) {
    if (row != 0) {
      std::this_thread::sleep_for(command.delay);
    }
    TRY_ASSIGN(const Json values, Ask(command.socket, path));
    const std::string rows = DmonRows(values, command.gpus);
    if (rows.empty()) {
      return Fail(ErrorKind::kNotFound, "no such GPU, or no driver yet");
    }
    Print((row % kHeaderEvery == 0 ? DmonHeader(command.fields) : "") + rows);
  }
  return {};
}

Status Run(const Command& command) {
  switch (command.word) {
    case Word::kVersion:
      Print(format("\ndcgmi  version: {}\n\nanswered by Gantry {}\n", kDcgm, GANTRY_VERSION));
      return {};
    case Word::kDiscovery: {
      TRY_ASSIGN(const Json devices, Ask(command.socket, "/devices"));
      Print(DiscoveryText(devices));
      return {};
    }
    case Word::kFields:
      Print(FieldsText());
      return {};
    case Word::kDmon:
      return Dmon(command);
    case Word::kHealthFetch:
      Print(WatchesText());
      return {};
    case Word::kHealthSet:
      Print("Health monitor systems set successfully.\n");
      return {};
    default: {
      TRY_ASSIGN(const Json health, Ask(command.socket, "/health"));
      Print(command.json ? HealthJsonText(health) : HealthText(health));
      return {};
    }
  }
}

}  // namespace

int RunDcgmi(int argc, char** argv) {
  const auto parsed = ParseCommand(argc, argv);
  if (!parsed) {
    std::fprintf(stderr, "Error: %s\n", parsed.error().message.c_str());
    return 2;
  }
  const std::optional<Command>& command = *parsed;
  if (!command.has_value()) {
    return 0;
  }
  if (const Status done = Run(*command); !done) {
    std::fprintf(stderr, "Error: %s\n", done.error().message.c_str());
    return 1;
  }
  return 0;
}

}  // namespace gantry::dcgmi
