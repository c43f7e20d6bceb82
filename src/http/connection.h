// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/paths.h"
#include "http/basic_auth.h"
#include "http/http.h"
#include "http/server.h"
#include "http/tls.h"
#include "http/web_config_file.h"

namespace gantry::http {

// What all connections of a server share.
struct Site {
  Server::Handler handler;
  std::chrono::milliseconds read_timeout;
  std::chrono::milliseconds write_timeout;
  std::unique_ptr<WebConfigFile> web_config;  // empty: plain HTTP, no password
  PasswordBook passwords = {};
};

// One client: its requests are read and answered one after the other. Steps never block, but for
// the handler and for a password's bcrypt.
class Connection {
 public:
  // The next request may take 5 minutes to come.
  Connection(Fd fd, Site& site, SteadyTime now);

  // What can be done without waiting; false when the connection is over. A password is compared
  // with its hash only if `may_check`, which is then taken away.
  bool Step(SteadyTime now, bool& may_check);

  [[nodiscard]] int fd() const { return stream_.fd(); }
  [[nodiscard]] short wait() const { return wait_; }  // the event of poll(2)
  // Whether a step has something to do before the next event.
  [[nodiscard]] bool due() const { return due_; }
  [[nodiscard]] bool idle() const { return idle_; }  // answered, and nothing new has come
  [[nodiscard]] SteadyTime deadline() const { return deadline_; }

 private:
  enum class Phase { kReading, kChecking, kSending };

  bool Receive(SteadyTime now);
  bool Send(SteadyTime now);
  void TakeRequest();
  void Answer();
  void Reply(const Response& response, bool keep_alive);

  Site& site_;
  Stream stream_;
  SteadyTime deadline_;
  Phase phase_ = Phase::kReading;
  short wait_;
  bool due_ = false;
  bool idle_ = false;
  std::string in_;
  RequestHead request_;
  Credentials credentials_;
  std::string out_;
  size_t sent_ = 0;
  bool keep_alive_ = false;  // after `out_`
};

}  // namespace gantry::http
