// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/paths.h"

namespace gantry::http {

// Listens without blocking at an address as flags write it: ":8080", "127.0.0.1:8080", "[::1]:0",
// or "unix:/run/x.sock", a socket for its owner alone, in the place of one that an earlier process
// left. kInvalid if it can't be read, else as bind(2) fails.
Result<Fd> Listen(std::string_view address);

// The port of a listening socket; 0: a unix socket has none.
uint16_t PortOf(int listener);

}  // namespace gantry::http
