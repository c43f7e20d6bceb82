// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "operands/vfio_manager/places.h"
#include "operands/vfio_manager/plan.h"

namespace gantry::vfio_manager {

inline constexpr char kProgram[] = "vfio-manage";

enum class Word { kBind, kUnbind, kManage, kRestore };

// What the command line and the environment say; bind and unbind are those of NVIDIA's
// vfio-manage.
struct Flags {
  Word word = Word::kBind;
  Places places;
  Selection selection;
  // Of manage.
  std::string node_name;   // empty: no events, and the GPUs are never given back
  std::string kubeconfig;  // empty: in-cluster
  std::string status_dir;
};

// Reads them; nothing after --help. kInvalid names the flag.
Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv);

}  // namespace gantry::vfio_manager
