// SPDX-License-Identifier: Apache-2.0
// How is it written down which driver a function had before?
#include "operands/vfio_manager/journal_text.h"

#include "base/json.h"

namespace gantry::vfio_manager {

std::string JournalText(const Journal& journal, const std::string& boot_id) {
  Json functions = Json::object();
  for (const auto& [address, before] : journal) {
    functions[address] = {{"driver", before.driver}, {"override", before.override}};
  }
  return Json({{"boot", boot_id}, {"functions", std::move(functions)}}).dump() + "\n";
}

Result<Journal> ParseJournal(std::string_view text, const std::string& boot_id) {
  TRY_ASSIGN(const Json json, ParseJson(text));
  const Json* const functions = At(json, "functions");
  if (functions == nullptr || !functions->is_object()) {
    return Fail(ErrorKind::kInvalid, "functions: not an object");
  }
  Journal journal;
  if (TextAt(json, "boot") == boot_id) {
    for (const auto& [address, before] : functions->items()) {
      journal[address] = {.driver = TextAt(before, "driver"),
                          .override = TextAt(before, "override")};
    }
  }
  return journal;
}

}  // namespace gantry::vfio_manager
