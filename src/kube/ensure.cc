// SPDX-License-Identifier: Apache-2.0
// Is the stored object already as it should be? If not, it is created, or replaced under the
// resourceVersion that was read, so that no concurrent write is lost.
#include "kube/ensure.h"

namespace gantry::kube {
namespace {

Result<bool> EnsureOnce(Client& client, const Kind& kind, const Key& key, const Form& form) {
  Result<Json> stored = client.Get(kind, key);
  if (!stored.has_value() && stored.error().kind != ErrorKind::kNotFound) {
    return std::unexpected(std::move(stored).error());
  }
  const Json wanted = form(stored.has_value() ? &*stored : nullptr);
  if (stored.has_value() && wanted == *stored) {
    return false;
  }
  TRY(stored.has_value() ? client.Replace(kind, wanted) : client.Create(kind, wanted));
  return true;
}

}  // namespace

Result<bool> Ensure(Client& client, const Kind& kind, const Key& key, const Form& form) {
  constexpr int kAttempts = 3;
  Result<bool> done = EnsureOnce(client, kind, key, form);
  for (int attempt = 1;
       attempt < kAttempts && !done.has_value() && done.error().kind == ErrorKind::kConflict;
       ++attempt) {
    done = EnsureOnce(client, kind, key, form);
  }
  return done;
}

}  // namespace gantry::kube
