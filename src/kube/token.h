// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "base/error.h"
#include "kube/config.h"

namespace gantry::kube {

// The bearer token of a client. The kubelet renews it by replacing its file; a credential program
// returns a new one. Thread-safe.
class Token {
 public:
  explicit Token(const Config& config);

  // The present token; empty if there is none. Costs a stat(2) if it comes from a file. If the file
  // can't be read, the last token read from it; kDenied if there was none.
  Result<std::string> Now();
  // The server refused `refused`: reads the file again, or gets another token, which blocks. True
  // if the token changed.
  bool Refresh(const std::string& refused);

 private:
  Status ReadLocked();

  const std::string file_;
  const std::function<Result<std::string>()> renew_;
  std::mutex mutex_;
  std::string token_;
  // Identifies the file that was read: a replaced file differs in at least one.
  long long inode_ = -1;
  long long modified_ns_ = -1;
};

}  // namespace gantry::kube
