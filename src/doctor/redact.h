// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

// What may leave a cluster: objects and logs without what opens something.
namespace gantry::doctor {

// An object of Kubernetes without the values of a Secret, of environment variables and ConfigMap
// entries that are called like one (password, token, key), and without what only repeats it
// (managedFields, kubectl's last applied configuration). All texts as RedactedText has them. Names
// stay: of Secrets, of keys.
Json Redacted(Json object);

// A text without bearer tokens, credentials of HTTP's basic authentication, JSON Web Tokens,
// private keys, passwords in URLs and of netrc, and what stands after a name such as `password=`.
std::string RedactedText(std::string_view text);

}  // namespace gantry::doctor
