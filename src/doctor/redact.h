// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

// Removes credentials from objects and logs that leave a cluster.
namespace gantry::doctor {

// A Kubernetes object without the values of a Secret, of environment variables and ConfigMap
// entries with a credential's name (password, token, key), and without copies of the object
// (managedFields, kubectl's last applied configuration). All strings as RedactedText returns them.
// Names of Secrets and keys are kept.
Json Redacted(Json object);

// A text without bearer tokens, credentials of HTTP's basic authentication, JSON Web Tokens,
// private keys, passwords in URLs and netrc, and values after a name such as `password=`.
std::string RedactedText(std::string_view text);

}  // namespace gantry::doctor
