// SPDX-License-Identifier: Apache-2.0
// How is a part of a cluster read: which failures are facts, and which end the reading?
#include "doctor/part_reader.h"

#include "base/error.h"

namespace gantry::doctor {

Status PartReader::Take(const std::string& what, const Status& status) {
  answered_ = answered_ || status.has_value();
  if (status.has_value() || status.error().kind == ErrorKind::kNotFound) {
    return {};
  }
  if (status.error().kind != ErrorKind::kDenied) {
    return status;
  }
  cluster_.unread.push_back({.what = what, .error = status.error()});
  return {};
}

Status PartReader::List(const kube::Kind& kind, const kube::Selection& selection,
                        const kube::Client::ItemSink& item) {
  TRY(client_.List(kind, selection, item));
  return {};
}

Status StatusOf(const Result<Json>& object) {
  return object.has_value() ? Status() : Status(std::unexpected(object.error()));
}

}  // namespace gantry::doctor
