// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::kubelet {

// Makes gRPC wake only for I/O in this process: its timer threads would wake twice a second for
// ever. The price: time-outs given to gRPC don't fire, callers keep their own. Once, before the
// first server or channel; more calls do nothing.
void QuietGrpc();

}  // namespace gantry::kubelet
