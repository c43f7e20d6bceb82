// SPDX-License-Identifier: Apache-2.0
#include "base/option_value.h"

#include <gtest/gtest.h>

namespace gantry {
namespace {

TEST(OptionValue, OfACommandLine) {
  EXPECT_EQ(OptionValue({"crio", "-c", "/a"}, {"--config", "-c"}), "/a");
  EXPECT_EQ(OptionValue({"crio", "--config=/b"}, {"--config", "-c"}), "/b");
  EXPECT_EQ(OptionValue({"crio", "--config-dir=/b"}, {"--config", "-c"}), "");
  EXPECT_EQ(OptionValue({"crio", "--config"}, {"--config"}), "");
  EXPECT_EQ(OptionValue({"containerd", "--config=/a", "-c", "/b"}, {"--config", "-c"}), "/b")
      << "a unit's drop-in appends an option";
}

}  // namespace
}  // namespace gantry
