// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "http/server.h"

namespace gantry::metrics_exporter {

http::Response MetricsPage(std::shared_ptr<const http::SharedBody> text);
// What is at the other paths. `reloading`: other counters are set, and those from before
// are served.
http::Response Page(std::string_view path, bool reloading);

}  // namespace gantry::metrics_exporter
