// SPDX-License-Identifier: Apache-2.0
// NVIDIA's own tools ask the library for tables of undocumented functions; nvidia-smi ends if it doesn't get the
// one it wants. It gets a table in which every function answers "not supported", and goes on with the documented
// calls: those functions only add lines that it then leaves out or fills with N/A.
#include "session.h"

namespace {

nvmlReturn_t NotSupported() { return NVML_ERROR_NOT_SUPPORTED; }

using Function = nvmlReturn_t (*)();

struct Table {
  Function functions[512];
  constexpr Table() : functions{} {
    for (Function& function : functions) function = NotSupported;
  }
};

constexpr Table kTable;

}  // namespace

FAKEGPU_EXPORT nvmlReturn_t nvmlInternalGetExportTable(const void** table, const void* id) {
  if (table == nullptr || id == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *table = &kTable;
  return NVML_SUCCESS;
}
