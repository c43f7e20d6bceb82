// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <ctime>
#include <map>
#include <memory>
#include <string>

#include "base/error.h"
#include "http/tls.h"
#include "http/web_config.h"

namespace gantry::http {

// A web configuration with the certificates that it names, read again when one of the files has
// changed. Not thread-safe.
class WebConfigFile {
 public:
  // kInvalid names the file or the field that can't be used.
  static Result<std::unique_ptr<WebConfigFile>> Open(std::string path);

  // Looks at the files first. While they can't be used, what they held last counts, and one line of
  // the log says why.
  void Refresh();
  [[nodiscard]] const WebConfig& config() const { return config_; }
  // Empty: plain HTTP.
  [[nodiscard]] const std::shared_ptr<const ServerTls>& tls() const { return tls_; }

 private:
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    timespec changed{};
    bool operator==(const Stamp& other) const;
  };

  explicit WebConfigFile(std::string path) : path_(std::move(path)) {}
  Status Read();
  static Stamp StampOf(const std::string& path);

  const std::string path_;
  std::map<std::string, Stamp> stamps_;  // of the files that were read last, or could not be
  WebConfig config_;
  std::shared_ptr<const ServerTls> tls_;
};

}  // namespace gantry::http
