// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "container/containerd.h"

// Which files of a containerd may be changed, and where a drop-in of ours is read. Some
// distributions write the root file anew at each start, so that an edit of it is lost or, worse,
// found again after a reboot in a file that they do not expect.
namespace gantry::container {

enum class ContainerdOwner {
  kAdministrator,  // kubeadm, cloud images: the root file stays as it is written
  kK3s,            // k3s and RKE2: root file from a template, may import <root file>.d/*.toml
  kK0s,            // k0s: root file generated, reads containerd.d/*.toml and restarts containerd
  kMicroK8s,       // MicroK8s: containerd.toml made of containerd-template.toml beside it
};

// "k3s or RKE2", ...: for messages.
std::string_view OwnerName(ContainerdOwner owner);

struct ContainerdLayout {
  ContainerdOwner owner = ContainerdOwner::kAdministrator;
  std::string root_path;      // the file that containerd is started with
  std::string template_path;  // edited in its place; empty: none
  bool edit_root = true;
  std::string drop_in_path;          // empty: no drop-in would be read (k3s before it had a folder)
  bool restarts_itself = false;      // when a drop-in changes
  std::vector<std::string> remarks;  // what was asked for and would do harm
};

struct ContainerdPlace {
  std::string root_path;  // from containerd's command line, or the default
  std::string root_text;
  bool has_template = false;  // MicroK8s's lies beside it
  // By option; empty: not given.
  std::string asked_root;
  std::string asked_drop_in;
  // What the asked file is to the root file.
  bool asked_is_root = false;  // the same file, by links too
  bool asked_is_read = false;  // imported by it
};

// The file that a containerd with this command line reads, as written there: its --config, else the
// default.
std::string ContainerdRootPath(const std::vector<std::string>& words);

// What is asked for counts only within what containerd reads. k3s: docs.k3s.io/advanced
// #configuring-containerd; k0s: docs.k0sproject.io/stable/runtime; MicroK8s: its snap's
// args/containerd-template.toml. kInvalid: the asked file is neither the root file nor one that it
// imports, and no distribution says where ours belongs.
Result<ContainerdLayout> LayoutOf(const ContainerdPlace& place);

// Where MicroK8s's template of a root file would lie.
std::string MicroK8sTemplate(const std::string& root_path);

}  // namespace gantry::container
