// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/paths.h"

namespace gantry {

// Messages from any thread to a thread that waits on a descriptor.
template <typename T>
class Mailbox {
 public:
  Mailbox() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { CHECK(fd_.valid()); }

  void Post(T message) {
    {
      const std::lock_guard lock(mutex_);
      messages_.push_back(std::move(message));
    }
    const uint64_t one = 1;
    CHECK(write(fd_.get(), &one, sizeof(one)) == sizeof(one));
  }

  // All messages since the last call, in their order. Does not block.
  std::vector<T> Take() {
    uint64_t count = 0;
    // Nothing to read: nothing was posted since.
    [[maybe_unused]] const auto got = read(fd_.get(), &count, sizeof(count));
    const std::lock_guard lock(mutex_);
    return std::exchange(messages_, {});
  }

  // Readable while there are messages.
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  Fd fd_;
  std::mutex mutex_;
  std::vector<T> messages_;
};

}  // namespace gantry
