// SPDX-License-Identifier: Apache-2.0
#include "kube/request_counts.h"

#include <gtest/gtest.h>

namespace gantry::kube {
namespace {

TEST(RequestCounts, AreToldUnderClientGosName) {
  RequestCounts counts;
  counts.Count("GET", 200);
  counts.Count("GET", 200);
  counts.Count("PATCH", 409);
  counts.Count("GET", 0);
  EXPECT_EQ(counts.Text("10.96.0.1:443"),
            "# HELP rest_client_requests_total Requests to the API server, by answer.\n"
            "# TYPE rest_client_requests_total counter\n"
            R"(rest_client_requests_total{code="<error>",host="10.96.0.1:443",method="GET"} 1)"
            "\n"
            R"(rest_client_requests_total{code="200",host="10.96.0.1:443",method="GET"} 2)"
            "\n"
            R"(rest_client_requests_total{code="409",host="10.96.0.1:443",method="PATCH"} 1)"
            "\n");
}

}  // namespace
}  // namespace gantry::kube
