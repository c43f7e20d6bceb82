// SPDX-License-Identifier: Apache-2.0
// What does a probe, or somebody with a browser, get? As from dcgm-exporter.
#include "operands/metrics_exporter/pages.h"

#include <utility>

namespace gantry::metrics_exporter {

http::Response MetricsPage(std::shared_ptr<const http::SharedBody> text) {
  return {.status = 200,
          .body = "",
          .content_type = "text/plain; version=0.0.4; charset=utf-8",
          .headers = {},
          .shared = std::move(text)};
}

http::Response Page(std::string_view path, bool reloading) {
  if (path == "/health") {
    // There is always something to serve, during a reload what was there before it.
    return {.status = 200,
            .body = "OK",
            .headers = {{"X-Registry-Available", "true"},
                        {"X-Reload-In-Progress", reloading ? "true" : "false"}}};
  }
  if (path == "/") {
    return {.status = 200,
            .body =
                "<html><head><title>GPU Exporter</title></head><body><h1>GPU Exporter</h1>"
                "<p><a href=\"./metrics\">Metrics</a></p></body></html>\n",
            .content_type = "text/html; charset=utf-8"};
  }
  return {.status = 404, .body = "404 page not found\n"};
}

}  // namespace gantry::metrics_exporter
