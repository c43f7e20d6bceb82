// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <gtest/gtest.h>

namespace gantry {
namespace {

TEST(Base64, DecodesWhatIsBase64) {
  EXPECT_EQ(DecodeBase64("").value(), "");
  EXPECT_EQ(DecodeBase64("YQ==").value(), "a");
  EXPECT_EQ(DecodeBase64("YWI=").value(), "ab");
  EXPECT_EQ(DecodeBase64("YWJj\nZGVm").value(), "abcdef");
  EXPECT_EQ(DecodeBase64("+/8A").value(), (std::string{'\xfb', '\xff', '\0'}));
  for (const char* wrong : {"Y", "YQ", "YQ=", "YQ=a", "Y*==", "===="}) {
    EXPECT_FALSE(DecodeBase64(wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace gantry
