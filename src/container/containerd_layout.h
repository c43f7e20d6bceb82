// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "container/containerd.h"

// Which files of a containerd may be changed, and where a drop-in is read. Some distributions
// rewrite the root file at each start. An edit of it is lost or, worse, breaks the next start.
namespace gantry::container {

enum class ContainerdOwner {
  kAdministrator,  // kubeadm, cloud images: the root file is never rewritten
  kK3s,            // k3s and RKE2: root file from a template, may import <root file>.d/*.toml
  kK0s,            // k0s: root file generated, reads containerd.d/*.toml and restarts containerd
  kMicroK8s,       // MicroK8s: containerd.toml made of containerd-template.toml beside it
};

// "k3s or RKE2", ...: for messages.
std::string_view OwnerName(ContainerdOwner owner);

struct ContainerdLayout {
  ContainerdOwner owner = ContainerdOwner::kAdministrator;
  std::string root_path;      // the file that containerd is started with
  std::string template_path;  // edited instead of it; empty: none
  bool edit_root = true;
  std::string drop_in_path;          // empty: no drop-in would be read (k3s before it had a folder)
  bool restarts_itself = false;      // when a drop-in changes
  std::vector<std::string> remarks;  // requests that would do harm
};

struct ContainerdPlace {
  std::string root_path;  // from containerd's command line, or the default
  std::string root_text;
  bool has_template = false;  // MicroK8s's lies beside it
  // By flag; empty: not given.
  std::string asked_root;
  std::string asked_drop_in;
  // How the requested file relates to the root file.
  bool asked_is_root = false;  // the same file, by links too
  bool asked_is_read = false;  // imported by it
};

// The file that a containerd with this command line reads, as written there: its --config, else the
// default.
std::string ContainerdRootPath(const std::vector<std::string>& words);

// A requested path counts only if containerd reads it. k3s: docs.k3s.io/advanced
// #configuring-containerd; k0s: docs.k0sproject.io/stable/runtime; MicroK8s: its snap's
// args/containerd-template.toml. kInvalid: the requested file is neither the root file nor one that
// it imports, and the distribution has no folder for drop-ins.
Result<ContainerdLayout> LayoutOf(const ContainerdPlace& place);

// Where MicroK8s's template of a root file would be.
std::string MicroK8sTemplate(const std::string& root_path);

}  // namespace gantry::container
