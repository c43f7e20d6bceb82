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

// "compute,utility", "all"; an empty part is none. kInvalid names a word that is no capability, or
// is not among `supported`.
Result<Capabilities> ParseCapabilities(std::string_view text, Capabilities supported);

// The capabilities that a file of the driver belongs to, by its path in a container; all of them if
// it is not known: a library of tomorrow's driver is rather too many than missing.
Capabilities CapabilitiesOf(std::string_view path);

// Takes out of a document's edits what belongs to other capabilities only: files, device nodes, and
// the links and libraries that its hook is told of.
void KeepCapabilities(Capabilities wanted, CdiEdits& edits);

}  // namespace gantry::container
