// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "kube/client.h"
#include "kube/config.h"

namespace gantry::kube {

// A real etcd and a real kube-apiserver, from the directory that $GANTRY_BED_BIN names, on free
// ports of 127.0.0.1 with certificates of their own. Ends them with the object.
class ControlPlane {
 public:
  ControlPlane();
  ~ControlPlane();
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  // As cluster administrator, straight or through another port.
  [[nodiscard]] Config Admin() const { return Admin(api_port_); }
  [[nodiscard]] Config Admin(uint16_t port) const;
  // With a bearer token instead of a certificate.
  [[nodiscard]] Config Anonymous(uint16_t port) const;
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] uint16_t api_port() const { return api_port_; }
  [[nodiscard]] pid_t api_pid() const { return api_; }

  void StopApiServer();
  void StartApiServer();  // returns when it is ready

 private:
  void MakeCertificates() const;
  [[nodiscard]] std::string File(const std::string& name) const;

  std::string directory_;
  std::string binaries_;
  uint16_t etcd_port_ = 0;
  uint16_t api_port_ = 0;
  pid_t etcd_ = -1;
  pid_t api_ = -1;
};

uint16_t FreePort();
std::string ReadFileText(const std::string& path);
// Written beside and renamed over, as the kubelet exchanges a token.
void WriteFileText(const std::string& path, const std::string& text);

}  // namespace gantry::kube
