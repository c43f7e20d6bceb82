// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "kube/config.h"

namespace gantry::kube {

// Credential programs: their input and output
// (https://kubernetes.io/docs/reference/config-api/client-authentication.v1/).

// The value of KUBERNETES_EXEC_INFO. `cluster`: for "provideClusterInfo"; else null.
std::string ExecInfo(std::string_view api_version, const Config* cluster);

struct ExecCredential {
  std::string token;
  std::string certificate_pem;
  std::string key_pem;
};
// What the program printed. kUnsupported: a version other than v1 and v1beta1; kInvalid: not an
// ExecCredential of that version, or one without a credential.
Result<ExecCredential> ReadExecCredential(std::string_view text, std::string_view api_version);

}  // namespace gantry::kube
