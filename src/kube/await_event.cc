// SPDX-License-Identifier: Apache-2.0
#include "kube/await_event.h"

#include <stop_token>

#include "base/text.h"

namespace gantry::kube {

Status AwaitEvent(Client& client, const Kind& kind, const Json& object,
                  std::chrono::seconds at_most,
                  const std::function<bool(const Json& event)>& awaited) {
  std::stop_source seen;
  const Status watched =
      client.Bounded(seen.get_token())
          ->WatchOnce(kind, {.fields = "metadata.name=" + TextAt(object, "metadata.name")},
                      {.resource_version = TextAt(object, "metadata.resourceVersion"),
                       .server_timeout = at_most,
                       .idle_limit = at_most + std::chrono::seconds(5)},
                      [&](const Json& event) {
                        if (awaited(event)) {
                          seen.request_stop();
                        }
                      });
  if (seen.stop_requested()) {
    return {};
  }
  TRY(watched);
  return Fail(ErrorKind::kTimeout, format("not seen within {} s", at_most.count()));
}

}  // namespace gantry::kube
