// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::kubelet {

// Makes gRPC wake only for I/O in this process: its timer threads would wake twice a second. The
// price: gRPC's timeouts don't fire, so callers keep their own. Call it before the first server or
// channel; later calls do nothing.
void QuietGrpc();

}  // namespace gantry::kubelet
