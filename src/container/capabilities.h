// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "container/cdi.h"

// NVIDIA_DRIVER_CAPABILITIES: which parts of the driver a container gets.
namespace gantry::container {

// A set of capabilities, one bit each.
struct Capabilities {
  enum Bit : unsigned {
    kCompat32 = 1,
    kCompute = 2,
    kDisplay = 4,
    kGraphics = 8,
    kNgx = 16,
    kUtility = 32,
    kVideo = 64,
    kAll = 127,
  };
  unsigned bits = kAll;
  [[nodiscard]] bool Has(unsigned any_of) const { return (bits & any_of) != 0; }
  bool operator==(const Capabilities&) const = default;
};

// "compute,utility", "all"; empty parts are skipped. kInvalid names a word that is not a
// capability, or is not among `supported`.
Result<Capabilities> ParseCapabilities(std::string_view text, Capabilities supported);

// The capabilities that a file of the driver belongs to, by its path in a container; all of them
// for an unknown file: a library of a future driver must not be missing.
Capabilities CapabilitiesOf(std::string_view path);

// Removes from a document's edits what belongs only to other capabilities: files, device nodes, and
// the links and libraries in its hook's flags.
void KeepCapabilities(Capabilities wanted, CdiEdits& edits);

}  // namespace gantry::container
