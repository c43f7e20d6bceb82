// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "base/error.h"
#include "kube/config.h"

namespace gantry::kube {

// The bearer token of a client, which the kubelet renews by exchanging its file, or a credential
// program when it is asked again. Thread-safe.
class Token {
 public:
  explicit Token(const Config& config);

  // The token as it is now; empty if there is none. Costs a stat(2) when it comes from a file. A
  // file that can't be read gives the last token that could; kDenied if there was none.
  Result<std::string> Now();
  // The server refused `refused`: reads the file again, or asks for another, which blocks. True if
  // the token is another one now.
  bool Refresh(const std::string& refused);

 private:
  Status ReadLocked();

  const std::string file_;
  const std::function<Result<std::string>()> renew_;
  std::mutex mutex_;
  std::string token_;
  // Which file was read: exchanged files differ in at least one.
  long long inode_ = -1;
  long long modified_ns_ = -1;
};

}  // namespace gantry::kube
