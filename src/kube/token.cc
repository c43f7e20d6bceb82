// SPDX-License-Identifier: Apache-2.0
// Which bearer token is sent now? Service account tokens live for about an hour. The kubelet writes
// the next one in time by replacing a symlink in the mounted directory, so the path leads to
// another inode.
#include "kube/token.h"

#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <iterator>

#include "base/text.h"

namespace gantry::kube {

Token::Token(const Config& config)
    : file_(config.token_file), renew_(config.renew_token), token_(config.token) {}

Status Token::ReadLocked() {
  struct stat found{};
  if (stat(file_.c_str(), &found) != 0) {
    return FailErrno(format("read token {}", file_), errno);
  }
  const long long modified_ns =
      static_cast<long long>(found.st_mtim.tv_sec) * 1'000'000'000 + found.st_mtim.tv_nsec;
  const auto inode = static_cast<long long>(found.st_ino);
  if (inode == inode_ && modified_ns == modified_ns_) {
    return {};
  }
  std::ifstream file(file_);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.good() || Trim(text).empty()) {
    return Fail(ErrorKind::kUnavailable, format("read token {}: unreadable or empty", file_));
  }
  token_ = Trim(text);
  inode_ = inode;
  modified_ns_ = modified_ns;
  return {};
}

Result<std::string> Token::Now() {
  const std::scoped_lock lock(mutex_);
  if (!file_.empty()) {
    const Status read = ReadLocked();
    if (!read.has_value() && token_.empty()) {
      return Fail(ErrorKind::kDenied, read.error().message);
    }
  }
  return token_;
}

bool Token::Refresh(const std::string& refused) {
  const std::scoped_lock lock(mutex_);
  if (renew_ && token_ == refused) {
    token_ = renew_().value_or(token_);
  }
  if (file_.empty()) {
    return token_ != refused;
  }
  inode_ = -1;
  return ReadLocked().has_value() && token_ != refused;
}

}  // namespace gantry::kube
